"""A site from sweeps and nights: pages of each, then the index that compares them."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.record.boards import boards
from eval.report.index_page import render_index
from operators import InputError
from operators.plurals import counted
from pipelines.site.entries import NightsEntry, SweepEntry, enter_nights, enter_sweep, holds_nights, problems
from pipelines.site.index_sections import index_headline, index_sections
from pipelines.site.site_files import INDEX, SiteFiles
from pipelines.storage.sweep_folder import SweepFolder


@dataclass(frozen=True)
class Site:
    """What was built."""

    files: SiteFiles
    sweeps: list[SweepEntry]
    nights: list[NightsEntry]

    @property
    def index(self) -> str:
        """Where the index lies."""
        return self.files.store.url(INDEX)

    @property
    def sentences(self) -> list[str]:
        """What is wrong with any part."""
        return [f"{name}: {sentence}" for name, sentence in problems([*self.sweeps, *self.nights])]


def build_site(
    urls: Sequence[str],
    out: str,
    *,
    nights: Sequence[str] = (),
    baseline: str | None = None,
    last: int = 30,
    name: str = "Sweeps",
) -> Site:
    """Write the site of some sweeps, and of nightly outputs among them or in `nights`, to a folder or `s3://` URL."""
    if not urls and not nights:
        raise InputError("SWEEP is missing: name at least one sweep, or a nightly evaluation by --nights.")
    if last < 1:
        raise InputError(f"--last is {last}: it must be at least 1.")
    files = SiteFiles(out)
    for url in (*urls, *nights):
        SweepFolder(url).store  # noqa: B018  an address that can be none is refused before anything is read
    files.claim()
    evaluations = dict.fromkeys([*nights, *(url for url in urls if holds_nights(url))])
    sweeps: list[SweepEntry] = []
    for url in dict.fromkeys(url for url in urls if url not in evaluations):
        sweeps.append(enter_sweep(url, files, [one.name for one in sweeps]))
    entries: list[NightsEntry] = []
    for url in evaluations:
        entries += enter_nights(url, files, [one.name for one in entries], last)
    if not any(one.sweep for one in sweeps) and not any(one.nights for one in entries):
        raise InputError(f"nothing can be shown: {problems([*sweeps, *entries])[0][1]}")
    compared = boards([one.entrant for one in sweeps if one.entrant is not None], baseline)
    wrong = len(problems([*sweeps, *entries]))
    state = ("warn", f"{wrong} of {len(sweeps) + len(entries)} not whole") if wrong else ("good", "all complete")
    source = " and ".join(
        filter(None, [counted(len(sweeps), "sweep") if sweeps else "", "nightly evaluations" if entries else ""])
    )
    sections = index_sections(sweeps, compared, entries)
    files.write(INDEX, render_index(name, index_headline(sweeps, compared), state, sections, source))
    files.finish()
    return Site(files, sweeps, entries)
