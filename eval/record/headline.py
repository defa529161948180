"""A sweep in a sentence: what its contrasts show, and where nothing is better than the measurement itself."""

from collections.abc import Sequence
from itertools import product

from eval.record.cell_result import adds_nothing
from eval.record.contrasts import Contrast, most_images, too_few
from eval.record.numbers import shown
from eval.record.sweep_record import SweepRecord
from operators.plurals import counted


def headline(record: SweepRecord) -> str:
    """`star beats markov in all of 4 comparisons`, and where that is worse than doing nothing."""
    nothing = added_nothing(record)
    return ". ".join([compared(record), *([] if nothing is None else [nothing])])


def compared(record: SweepRecord) -> str:
    """What contrasts show, and what a race confirmed."""
    amount = amount_words(record.contrasts, "comparison") if record.contrasts else "The best settings of every task"
    return ". ".join([*confirmed(record), *([] if confirmed(record) and not record.contrasts else [amount])])


def confirmed(record: SweepRecord) -> list[str]:
    """A sentence for each race that is over; its number is of measurements that did not choose the winner."""
    race = record.race
    if race is None:
        return []
    unit = record.scores.info(race.metric).unit
    return [one.sentence(record.cell(one.cell).label, race.metric, unit) for one in race.confirmations]


def amount_words(contrasts: Sequence[Contrast], noun: str) -> str:
    """What contrasts with one baseline amount to, counted in comparisons or metrics."""
    baseline, rivals = contrasts[0].b, list(dict.fromkeys(one.a for one in contrasts))
    if not most_images(contrasts):
        return f"{_listed([*rivals, baseline])} are not compared: {contrasts[0].reason}"
    if undecidable(contrasts) is not None and not any(one.winner for one in contrasts):
        return undecidable(contrasts) or ""
    if len(rivals) == 1:
        return _pair_words(contrasts, noun)
    return f"Against {baseline}: " + ", ".join(
        _rival_words(name, [one for one in contrasts if one.a == name]) for name in rivals
    )


def undecidable(contrasts: Sequence[Contrast]) -> str | None:
    """`4 images cannot tell star from markov; 8 can`, where no difference however clear could count as one."""
    needed = too_few(contrasts)
    if needed is None:
        return None
    names = _listed(list(dict.fromkeys(one.a for one in contrasts)))
    return f"{counted(most_images(contrasts), 'image')} cannot tell {names} from {contrasts[0].b}; {needed} can"


def added_nothing(record: SweepRecord) -> str | None:
    """Tasks in which no cell is better than the measurement itself, with the metrics that say so."""
    worse: dict[str, list[str]] = {}
    for best in record.best:
        if best.adds_nothing:
            worse.setdefault(best.task, []).append(best.metric.name)
    if not worse:
        return None
    return "Nothing is better than the measurement itself in " + "; ".join(
        f"{task} by {_listed(metrics)}" for task, metrics in worse.items()
    )


def worse_than_nothing(record: SweepRecord, below_headline: bool = False) -> list[str]:
    """A sentence per task and metric by which arms, even at their best, are not better than the measurement itself.

    Below the headline those are left out by which no arm is, since it names them.
    """
    told = {(best.task, best.metric.name) for best in record.best if best.adds_nothing} if below_headline else set()
    sentences = []
    for task, metric in product(record.tasks, record.judged):
        if (task, metric.name) in told:
            continue
        measured = record.measurements.get(task, {}).get(metric.name)
        best = {arm: record.best_of(task, metric, arm) for arm in record.arms} if measured is not None else {}
        worse = [
            f"{arm or 'the method'} {shown(cell.means[metric.name].mean)}"
            for arm, cell in best.items()
            if measured is not None and cell is not None and adds_nothing(cell, metric, measured)
        ]
        if worse and measured is not None:
            itself = f"the measurement itself has {shown(measured.mean)}"
            sentences.append(f"{task}: {_listed(worse)} gained nothing by {metric.name}, {itself}")
    return sentences


def _pair_words(contrasts: Sequence[Contrast], noun: str) -> str:
    a, b, count = contrasts[0].a, contrasts[0].b, len(contrasts)
    won, lost = (sum(one.winner == side for one in contrasts) for side in ("a", "b"))
    what = f"of {counted(count, noun)}"
    if count in (won, lost):
        words = f"{a} beats {b}" if won else f"{b} beats {a}"
        return f"{words} in all {what}" if count > 1 else words
    if not won and not lost:
        return f"No difference between {a} and {b} is shown in any {what}"
    return f"{a} wins {won}, {b} {lost}, {count - won - lost} undecided {what}"


def _rival_words(name: str, contrasts: Sequence[Contrast]) -> str:
    won, lost = (sum(one.winner == side for one in contrasts) for side in ("a", "b"))
    if not won and not lost:
        return f"{name} not told apart"
    parts = [f"{word} in {count}" for word, count in (("better", won), ("worse", lost)) if count]
    return f"{name} {' and '.join(parts)} of {len(contrasts)}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
