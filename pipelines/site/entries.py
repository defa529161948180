"""What a site lists: sweeps and nightly evaluations, each with its page, or with the sentence that says why not."""

from collections.abc import Iterable
from dataclasses import dataclass

from eval.record.boards import Entrant
from eval.report.document import with_home
from operators import InputError
from operators.plurals import counted
from pipelines.nightly.folder import NightlyFolder
from pipelines.nightly.records import NightRecord
from pipelines.report import render_sweep
from pipelines.report.sweep_names import slug, unused
from pipelines.score.stored_sweep import StoredSweep
from pipelines.site.site_files import SiteFiles
from pipelines.storage.sweep_folder import SUMMARY, SweepFolder

HOME = "../../index.html"
"""From a page two folders below."""
HISTORY = "history/"
"""Where a nightly evaluation keeps its nights."""


@dataclass(frozen=True)
class SweepEntry:
    """A sweep of the site."""

    url: str
    name: str
    """Its own; one of the same name is told by its place."""

    sweep: StoredSweep | None = None
    """None where it cannot be shown."""

    page: str = ""
    """Relative link; empty where there is none."""

    sentence: str = ""
    """What is wrong with it; empty where nothing is."""

    @property
    def entrant(self) -> Entrant | None:
        """It takes part in comparisons where it is complete and something in it can be better than something else."""
        if self.sweep is None or self.sweep.missing > 0 or not self.sweep.record.judged:
            return None
        return Entrant(self.name, self.sweep.record, self.sweep.measured)


@dataclass(frozen=True)
class NightsEntry:
    """The nights of one evaluation, the oldest first."""

    url: str
    name: str
    nights: list[NightRecord]
    pages: dict[str, str]
    """Relative links by night; nights without a report are missing."""

    sentence: str = ""


def problems(entries: Iterable[SweepEntry | NightsEntry]) -> list[tuple[str, str]]:
    """Names and sentences of those with which something is wrong."""
    return [(one.name, one.sentence) for one in entries if one.sentence]


def holds_nights(url: str) -> bool:
    """Whether a folder is that of a nightly evaluation, and of no sweep."""
    store = SweepFolder(url).store
    return not store.exists(SUMMARY) and any(name.startswith(HISTORY) for name in store.list(HISTORY))


def enter_sweep(url: str, files: SiteFiles, used: Iterable[str]) -> SweepEntry:
    """A sweep with its page written; whatever is wrong with it is a sentence, and no other sweep's matter."""
    try:
        sweep = StoredSweep.read(SweepFolder(url))
        name = unused(sweep.spec.name, used)
        content = render_sweep(sweep, home=HOME)
    except InputError as error:
        return SweepEntry(url, unused(url.rstrip("/").rpartition("/")[2] or url, used), sentence=str(error))
    page = f"sweeps/{slug(name)}/index.html"
    files.write(page, content)
    return SweepEntry(url, name, sweep, page, _lacking(sweep))


def enter_nights(url: str, files: SiteFiles, used: Iterable[str], last: int) -> list[NightsEntry]:
    """The evaluations of a nightly output with the pages of their last nights copied."""
    folder = NightlyFolder(url, "")
    try:
        history = folder.nights()
        if not history:
            raise InputError(f"nights {url}: no night has run to its end there; `g2d2 nightly SPEC` runs one.")
    except InputError as error:
        return [NightsEntry(url, unused(url.rstrip("/").rpartition("/")[2] or url, used), [], {}, str(error))]
    entries: list[NightsEntry] = []
    for evaluation in dict.fromkeys(record.name for record in history):
        nights = [record for record in history if record.name == evaluation][-last:]
        name = unused(evaluation, [*used, *(one.name for one in entries)])
        pages = {}
        for record in nights:
            source = folder.file(record.night, "report.html")
            if folder.store.exists(source):
                pages[record.night] = f"nights/{slug(name)}/{slug(record.night)}.html"
                files.write(pages[record.night], with_home(folder.store.read_bytes(source), HOME))
        entries.append(NightsEntry(url, name, nights, pages))
    return entries


def _lacking(sweep: StoredSweep) -> str:
    if sweep.missing > 0:
        of = counted(sweep.expected, "work item")
        return f"{sweep.missing} of {of} missing, so it is on no leaderboard; `g2d2 sweep` goes on with it."
    return f"{counted(sweep.failed, 'row')} failed; its page says why." if sweep.failed else ""
