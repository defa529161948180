"""`g2d2 paper`: the paper's experiments as sweeps, tables in the paper's shape, and its figures."""

import argparse
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

from operators import InputError
from operators.plurals import counted
from pipelines.paper import Experiment, PaperTable, build_table, find_experiments, to_latex, to_markdown, to_record
from pipelines.paper.running import HOME, moved, prepare_minis, run_specs
from pipelines.storage import open_store

EXAMPLE = "g2d2 paper examples/paper --only main star-against-markov"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path("examples/paper"), help="experiments (default: examples/paper)"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these experiments")
    parser.add_argument("--full", action="store_true", help="the full specifications instead of the minis")
    parser.add_argument("--out", default=HOME, help="tables, figures, and all that minis make (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="list the experiments and run none")
    parser.add_argument("--json", action="store_true", help="print the tables as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run or resume the sweeps of each experiment, write and print its table, draw its figures. 1 where rows failed."""
    from pipelines.paper.drawing import draw_figures  # with what draws them

    experiments = [moved(one, args.out.rstrip("/")) for one in find_experiments(args.folder, args.only)]
    if args.list:
        return _list(experiments, args.json)
    out, tables, drawn, failed = args.out.rstrip("/"), [], [], 0
    kind = "-full" if args.full else ""
    if not args.full:
        prepare_minis(experiments, out)
    for experiment in experiments:
        with redirect_stdout(sys.stderr):  # Ray tells of lost workers on stdout, which is for results alone
            table, failures = _table(experiment, args.full)
            _write(table, f"{out}/tables{kind}")
            specs = experiment.full_figures if args.full else experiment.mini_figures
            urls, undrawn = draw_figures(specs.values(), f"{out}/figures{kind}") if specs else ([], 0)
        if not args.json:
            print(to_markdown(table), flush=True)
            print("".join(f"figure: {url}\n" for url in urls if url.endswith(".png")), flush=True)
        tables.append(table)
        drawn += urls
        failed += failures + undrawn
    if args.json:
        print(json.dumps({"failed": failed, "tables": [to_record(table) for table in tables], "figures": drawn}))
    elif failed:
        print(f"{counted(failed, 'row')} failed; `g2d2 sweep SPEC --retry-failed` tries again", file=sys.stderr)
    return 1 if failed else 0


def _table(experiment: Experiment, full: bool) -> tuple[PaperTable, int]:
    specs = experiment.full if full else experiment.minis
    if not specs:
        raise InputError(f"experiment {experiment.name}: it has no {'full' if full else 'mini'} specification.")
    sweeps = list(run_specs(specs.values(), dataset=None if full else "cifar10"))
    failed = sum(one.sweep.failed for one in sweeps)
    return build_table(experiment, sweeps), failed


def _write(table: PaperTable, folder: str) -> None:
    store = open_store(folder)
    store.write_bytes(f"{table.name}.md", to_markdown(table).encode())
    store.write_bytes(f"{table.name}.tex", to_latex(table).encode())
    store.write_bytes(f"{table.name}.json", json.dumps(to_record(table), indent=1).encode())


def _list(experiments: list[Experiment], as_json: bool) -> int:
    facts = [
        {"name": one.name, "title": one.table.title, "source": one.table.source,
         "minis": [*one.minis, *one.mini_figures], "full": [*one.full, *one.full_figures]}
        for one in experiments
    ]  # fmt: skip
    if as_json:
        print(json.dumps(facts))
        return 0
    for one in facts:
        print(f"{one['name']}: {one['title']} ({one['source']})")
        print(f"  full: {', '.join(one['full'])}\n  mini: {', '.join(one['minis'])}")
    return 0
