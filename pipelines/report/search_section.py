"""All trials of a search in a sweep's report: when each was proposed, how far it came and how good it looks."""

from markupsafe import Markup

from eval.cell_labels import value_words
from eval.record.numbers import shown
from eval.report import Section, paragraph, table
from pipelines.plan.search_record import SearchRecord, Trial
from pipelines.score.stored_sweep import StoredSweep


def search_sections(sweep: StoredSweep) -> list[Section]:
    """None where the sweep is no search."""
    search = sweep.search
    if search is None:
        return []
    about = f"{search.sentence.capitalize()}. Everything else on this page is of that batch and its own measurements."
    return [Section("The search", Markup("\n").join([paragraph(about), _trials(search)]))]


def _trials(search: SearchRecord) -> Markup:
    """Who is still in first, then who stayed longer, then the better."""
    names = list(search.trials[0].settings)
    header = [*names, "batch", "", "measurements", f"{search.metric}: behind by"]
    ordered = sorted(search.trials, key=lambda one: _place(search, one))
    rows = [
        [
            *(value_words(one.settings[name]) for name in names),
            str(one.batch),
            _state(search, one),
            str(one.seen),
            "-" if one.behind is None else shown(one.behind),
        ]
        for one in ordered
    ]
    caption = (
        "All trials. A batch's cells are proposed from the scores of earlier ones and race on measurements that none "
        "of those saw; how far each is behind the leader is a least squares over all measurements that were met."
    )
    return table(header, rows, caption)


def _place(search: SearchRecord, one: Trial) -> tuple[bool, int, float]:
    return one.settings != search.leader, -(one.left or search.of_batches + 1), one.behind or 0.0


def _state(search: SearchRecord, one: Trial) -> str:
    if one.left is not None:
        return f"left in batch {one.left}"
    if one.missing_since is not None:
        return f"unbeaten, missing since batch {one.missing_since}"
    if one.settings != search.leader:
        return "in"
    return "won" if search.batches == search.of_batches else "leads"
