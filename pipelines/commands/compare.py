"""`g2d2 compare`: hold scored results against a baseline, and exit with 1 where they became worse."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eval.gate import CellPair, Spared, compare, default_tolerances, parse_tolerances
from eval.scores import ScoreTable
from operators.pictures import write_bytes
from operators.plurals import counted
from pipelines.console.gate_table import gate_lines
from pipelines.storage.sweep_folder import SweepFolder

if TYPE_CHECKING:
    from eval.distribution import CellDistance

EXAMPLE = "g2d2 compare tonight.parquet accepted.parquet --tolerance psnr=0.1 lpips_vgg=2% --junit gate.xml"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "candidate", metavar="CANDIDATE", help="to judge: a sweep's output or a scored Parquet file, path or URL"
    )
    parser.add_argument("baseline", metavar="BASELINE", help="what was accepted, likewise")
    parser.add_argument(
        "--tolerance",
        nargs="+",
        action="extend",
        metavar="METRIC=SIZE",
        help="the metrics to judge and what loss is tolerated, as a number or a percentage of the baseline; for a "
        "metric that nobody knows METRIC:higher=SIZE or METRIC:lower=SIZE (default: what each metric says of itself)",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, help="that nothing is reported where nothing changed (default: 0.95)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit XML")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write Markdown")


def run(args: argparse.Namespace) -> int:
    """0: nothing became worse. 1: something regressed, is missing or could not be compared."""
    candidate, baseline = read_scores(args.candidate), read_scores(args.baseline)
    if args.tolerance:
        tolerances = parse_tolerances(args.tolerance, args.confidence, baseline.info)
    else:
        tolerances = default_tolerances(baseline.metrics, args.confidence, baseline.info)
    result = compare(candidate, baseline, tolerances, spared=(_spared(args.candidate), _spared(args.baseline)))
    notes = *_raced(args.baseline, args.candidate), *_distances_of_both(args, baseline, result.pairs)
    result = replace(result, notes=(*result.notes, *notes))
    for path, text in ((args.junit, result.to_junit), (args.markdown, result.to_markdown)):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(text().encode(), path)
    print(result.to_json() if args.json else f"{gate_lines(result)}\n{result.summary()}")
    return 0 if result.passed else 1


def read_scores(url: str) -> ScoreTable:
    """All scored metrics of a sweep's present plan, or a table that was written by itself."""
    folder = _sweep(url)
    if folder is None:
        return ScoreTable.read(url)
    from pipelines.plan.race_record import read_plan
    from pipelines.score.collecting import current_scores  # with all that plans need, which a table does not
    from pipelines.score.scorings import known_scorings

    return current_scores(folder, read_plan(folder), known_scorings(folder), where=f"sweep {url}")


def read_distances(url: str) -> "dict[str, dict[str, CellDistance]]":
    """Distances of a sweep's present plan by cell and name; none where it has none, and of a table by itself."""
    folder = _sweep(url)
    if folder is None:
        return {}
    summary = folder.read_summary()
    if not folder.store.exists(folder.distances_name(summary["plan"], summary["scoring"])):
        return {}
    from pipelines.score import features  # with the networks' libraries, which only distances need

    return features.distances_by_cell(features.read_distances(folder, summary["plan"], summary["scoring"]))


def _raced(*urls: str) -> Iterator[str]:
    """A line for each side that is a race: it says why some cells have fewer measurements than others."""
    for url in urls:
        folder = _sweep(url)
        if folder is None or folder.read_summary()["specification"].get("race") is None:
            continue
        from pipelines.plan.race_record import read_race  # with all that plans need, which a table does not

        race = read_race(folder, folder.read_summary()["plan"])
        left = 0 if race is None else sum(len(heat.runners) - len(heat.inside) for heat in race.heats)
        yield (
            f"{url} is a race: {counted(left, 'cell')} left it and saw fewer measurements than the others; each cell "
            "is judged on what both sides were asked for, and where it left p is nominal"
        )


def _spared(url: str) -> Spared:
    """What a race left out of one side."""
    folder = _sweep(url)
    if folder is None or folder.read_summary()["specification"].get("race") is None:
        return Spared()
    from pipelines.score.spared_rows import spared_rows  # with all that plans need, which a table does not

    return spared_rows(folder)


def _distances_of_both(args: argparse.Namespace, baseline: ScoreTable, pairs: Mapping[str, CellPair]) -> Iterator[str]:
    """A line for each distance of a cell that both sides have scored."""
    before, now = read_distances(args.baseline), read_distances(args.candidate)
    for cell, pair in pairs.items():
        sides = before.get(cell, {}), now.get(pair.candidate or "", {})
        for name in dict.fromkeys([*sides[0], *sides[1]]):
            both = [side[name] for side in sides if name in side]
            values = (str(side.get(name, "-")) for side in sides)
            over = " and ".join(str(one.images) for one in both)
            other = f" and is over {over} images" if len({one.images for one in both}) > 1 else ""
            label = baseline.cell_label(cell)
            yield f"{name} of {label}: {' -> '.join(values)}, not judged: it has no interval{other}"


def _sweep(url: str) -> SweepFolder | None:
    """The sweep at an address; None where that is a table by itself, or nothing."""
    folder = SweepFolder(url)
    return None if url.endswith(".parquet") or not folder.store.exists("sweep.json") else folder
