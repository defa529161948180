"""`g2d2 report`: a sweep as one HTML page, and its figures and tables for papers."""

import argparse
import json
from pathlib import Path

from eval.record.headline import worse_than_nothing
from eval.report import render_page
from operators.pictures import write_bytes
from pipelines.report import PAGE, own_sections, read_report
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder

EXAMPLE = "g2d2 report out/demo/sweep --figures figures/ --tables tables/"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sweep", metavar="SWEEP", help="folder or s3:// URL of a sweep's results, finished or not")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"the page (default: {PAGE} in the sweep's folder)")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="also write the figures, each as PNG, PDF and SVG")
    parser.add_argument("--tables", type=Path, metavar="DIR", help="also write the tables, each as LaTeX and Markdown")
    parser.add_argument(
        "--cells", nargs="+", default=[], metavar="ID", help="show pictures of these cells besides the best ones"
    )
    parser.add_argument(
        "--metrics",
        nargs="+",
        metavar="NAME",
        help="show these metrics and distances only (default: all that are scored)",
    )
    parser.add_argument(
        "--measurement", nargs="+", default=[], metavar="ID", help="show all cells' pictures of these measurements"
    )
    parser.add_argument(
        "--against", nargs="+", default=[], metavar="SWEEP", help="show cells of these sweeps beside, by measurement"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """0 complete, 1 rows failed, 2 not complete; the page is written in any case."""
    from pipelines.report.report_files import write_figures, write_tables  # with what draws them

    folder = SweepFolder(args.sweep)
    sweep = StoredSweep.read(folder)
    against = [StoredSweep.read(SweepFolder(one)) for one in args.against]
    chosen = sweep if args.metrics is None else sweep.only(args.metrics)
    report = read_report(chosen, args.cells, args.measurement, against)
    more = own_sections(chosen)
    files = [_write_page(folder, render_page(report, more), args.out)]
    if args.figures is not None:
        files += map(str, write_figures(report, args.figures, more))
    if args.tables is not None:
        files += map(str, write_tables(report, args.tables))
    facts = report.facts
    if args.json:
        counts = {"expected": facts.expected, "scored": facts.scored, "failed": facts.failed, "missing": facts.missing}
        print(json.dumps({"page": files[0], "files": files[1:], **counts}))
    else:
        for sentence in worse_than_nothing(report.record):
            print(f"warning: {sentence}")
        for note in facts.notes:
            print(f"note: {note}")
        print(f"{files[0]}\n{len(files) - 1} figures and tables" if files[1:] else files[0])
        if facts.missing or facts.failed:
            print(f"{facts.missing} of {facts.expected} work items are missing, {facts.failed} failed")
    return 2 if facts.missing else 1 if facts.failed else 0


def _write_page(folder: SweepFolder, page: bytes, out: Path | None) -> str:
    if out is None:
        folder.store.write_bytes(PAGE, page)
        return folder.store.url(PAGE)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(page, out)
    return str(out)
