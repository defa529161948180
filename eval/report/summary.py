"""The first screen: what won, by how much, star against Markov, and whether the sweep is complete."""

from collections.abc import Mapping, Sequence
from html import escape

from eval.report.content import Facts, Report, TaskFacts
from eval.report.findings import Best, Duel
from eval.report.numbers import p_shown, shown, spread
from eval.statistics import Interval
from eval.verdicts import images_needed
from operators.plurals import counted

ARROWS = {"higher": "↑", "lower": "↓", "none": ""}


def status_pill(facts: Facts) -> str:
    """Complete or not, in a word that also colour-blind readers see."""
    if facts.missing:
        return f'<span class="pill warn">not complete: {facts.missing} of {facts.expected} missing</span>'
    if facts.failed:
        return f'<span class="pill bad">complete, {facts.failed} failed</span>'
    return '<span class="pill good">complete</span>'


def summary_html(report: Report, best: Sequence[Best], duels: Sequence[Duel]) -> str:
    """A sentence, what failed most, and a card per task."""
    results, facts = report.results, report.facts
    counts = (
        f"{counted(len(results.cells), 'cell')}, {counted(len(results.tasks), 'task')}, "
        f"{facts.scored} of {facts.expected} reconstructions scored, {facts.failed} failed. Prior {facts.prior}."
    )
    cards = "".join(
        _card(
            task,
            facts.tasks.get(task),
            [one for one in best if one.task == task],
            [duel for duel in duels if duel.task == task],
            too_few(duels),
            report.measurements.get(task, {}),
        )
        for task in results.tasks
    )
    worst = facts.failures[:1]
    ending = "The section What ran lists all failures."
    said = [f"{counted(one.count, 'row')} failed with: {one.error.rstrip('.')}. {ending}" for one in worst]
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in [*said, *facts.notes])
    return (
        f'<h1>{escape(headline(duels))}</h1><p class="lead">{escape(counts)}</p>{notes}<div class="cards">{cards}</div>'
    )


def headline(duels: Sequence[Duel]) -> str:
    """Star against Markov in one sentence, over all tasks and metrics."""
    if not duels:
        return "The best settings of every task"
    star, markov = (sum(duel.winner == name for duel in duels) for name in ("star", "markov"))
    what = f"of {counted(len(duels), 'comparison')} over tasks and metrics"
    if star == len(duels):
        return f"Star beats Markov in all {what}" if len(duels) > 1 else "Star beats Markov"
    if markov == len(duels):
        return f"Markov beats star in all {what}" if len(duels) > 1 else "Markov beats star"
    few = too_few(duels)
    if few is not None:
        return few
    if not star and not markov:
        return f"No difference between star and Markov is shown in any {what}"
    open_ = len(duels) - star - markov
    return f"Star wins {star}, Markov {markov}, {open_} undecided {what}"


def too_few(duels: Sequence[Duel]) -> str | None:
    """Said where even a difference of the same sign in every image could not reach significance."""
    images = [duel.result.difference.clusters for duel in duels if duel.result is not None]
    if not images or max(images) >= images_needed(len(images)):
        return None
    return f"{counted(max(images), 'image')} cannot tell star from Markov; {images_needed(len(images))} can"


def task_words(task: TaskFacts) -> str:
    """`super_resolution, factor 4, sigma 0.05, 32x32`."""
    params = [
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in task.params.items()
    ]
    size = f"{task.image_shape[-1]}x{task.image_shape[-2]}"
    return ", ".join([task.operator, *params[:3], f"sigma {task.sigma:g}", size])


def _card(
    task: str,
    facts: TaskFacts | None,
    best: Sequence[Best],
    duels: Sequence[Duel],
    few: str | None,
    measured: Mapping[str, Interval],
) -> str:
    what = "" if facts is None else f'<span class="what">{escape(task_words(facts))}</span>'
    wins = "".join(_win(one, measured.get(one.metric.name)) for one in best)
    verdict = _verdict(duels, few)
    return f'<article class="card"><h2>{escape(task)}{what}</h2><dl class="wins">{wins}</dl>{verdict}</article>'


def _win(best: Best, measured: Interval | None) -> str:
    unit = f" {best.metric.unit}" if best.metric.unit else ""
    said = [f"{best.of_images} images"] if best.mean.clusters < best.images else []
    if best.rivals:
        said.append("no other cell ties" if not best.tied else f"{best.tied} of {best.rivals} other cells tie")
    if best.unranked:
        said.append(f"{counted(best.unranked, 'cell')} with too few values")
    if measured is not None:
        mine = best.cell.ranked.get(best.metric.name, best.mean.mean)  # over the images that `measured` is over
        better = (mine > measured.mean) == (best.metric.direction == "higher")
        said.append(f"{'' if better else 'not better than '}the measurement itself: {shown(measured.mean)}")
    tied = f'<span class="tied">{"; ".join(said)}</span>' if said else ""
    return (
        f"<div><dt>{escape(best.metric.name)} {ARROWS[best.metric.direction]}</dt><dd><b>{shown(best.mean.mean)}</b>"
        f'{escape(unit)} <span class="interval">{spread(best.mean)}</span>'
        f'<span class="settings">{escape(best.cell.label)}</span>{tied}</dd></div>'
    )


def _verdict(duels: Sequence[Duel], few: str | None) -> str:
    if not duels:
        return ""
    star, markov = (sum(duel.winner == name for duel in duels) for name in ("star", "markov"))
    if star == len(duels) or markov == len(duels):
        word, kind = ("Star better", "star") if star else ("Markov better", "markov")
        title = f"{word} on {'every metric' if len(duels) > 1 else 'the only metric'}"
    elif star or markov:
        title, kind = f"Star better on {star}, Markov on {markov} of {len(duels)} metrics", "even"
    else:
        title, kind = few or "No difference between star and Markov shown", "even"
    lines = "".join(f"<li>{escape(duel_words(duel))}</li>" for duel in duels)
    return f'<div class="verdict {kind}"><strong>{title}</strong><ul>{lines}</ul></div>'


def duel_words(duel: Duel) -> str:
    """`psnr +1.786 [1.601, 1.974], p 0.0030: star better`."""
    if duel.result is None:
        return f"{duel.metric.name} {duel.verdict}"
    gap = duel.result.difference
    number = f"{duel.metric.name} {'+' if gap.mean > 0 else ''}{shown(gap.mean)} {spread(gap)}"
    p = p_shown(duel.result.p_corrected)
    return f"{number}, p {p}: {duel.verdict}" if p else f"{number}: {duel.verdict}"
