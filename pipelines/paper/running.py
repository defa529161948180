"""Run the specifications of an experiment as ordinary sweeps; the minis bring what they need themselves."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from g2d2.priors.catalog import CATALOG, packaged_folder
from operators import InputError
from operators.validation import validate
from pipelines.manifest import BuildSettings, build_manifest
from pipelines.paper.experiments import Experiment
from pipelines.paper.paper_tables import Swept
from pipelines.paper.uninformed import write_uninformed
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.sweep import run_sweep

HOME = "out/paper"
"""Where the minis' own files say that everything goes; `--out` puts it elsewhere."""
PRIOR = "cifar10"
UNINFORMED = f"{HOME}/priors/uninformed"
TASKS = ("sr4-32", "gaussian-deblur-32")


def moved(experiment: Experiment, out: str) -> Experiment:
    """The experiment with its minis' paths below `out`."""
    minis, figures = (
        {stem: _moved(spec, out) for stem, spec in specs.items()}
        for specs in (experiment.minis, experiment.mini_figures)
    )
    return replace(experiment, minis=minis, mini_figures=figures)


def _moved(spec: SweepSpec, out: str) -> SweepSpec:
    paths = {name: getattr(spec, name) or "" for name in ("manifest", "prior", "output")}
    inside = {name: out + path.removeprefix(HOME) for name, path in paths.items() if path.startswith(f"{HOME}/")}
    return spec.model_copy(update=inside)


def prepare_minis(experiments: Iterable[Experiment], out: str) -> None:
    """Measure the held-out photographs, and write the uninformed prior where one is named."""
    specs = [spec for one in experiments for spec in (*one.minis.values(), *one.mini_figures.values())]
    uninformed = out + UNINFORMED.removeprefix(HOME)
    if any(spec.prior == uninformed for spec in specs):
        if "://" in out:
            raise InputError(f"out: {out!r} is no local folder, and a mini keeps a prior of its own there; give one.")
        write_uninformed(packaged_folder(CATALOG[PRIOR]), Path(uninformed))
    values = {"source": "cifar10-heldout", "tasks": TASKS}
    for manifest in dict.fromkeys(spec.manifest for spec in specs):
        build_manifest(validate(BuildSettings, values, where="minis"), manifest)


def run_specs(specs: Iterable[SweepSpec], *, dataset: str | None = None) -> Iterator[Swept]:
    """Each specification with its scores, in turn; what was solved before is not solved again."""
    for spec in specs:
        result = run_sweep(spec)
        if not result.counts.complete:
            raise InputError(f"sweep {spec.name}: not everything is committed; the same command goes on.")
        yield Swept(result.stored(spec), dataset or dataset_of(spec))


def dataset_of(spec: SweepSpec) -> str:
    """The paper's data set, by the experiments that the arms of a full specification name."""
    named = {arm.experiment.partition("-")[0] for arm in spec.all_arms().values() if arm.experiment is not None}
    if not named:
        raise InputError(f"sweep {spec.name}: solver.experiment is missing; it says which data set it is.")
    if len(named) > 1:
        raise InputError(
            f"sweep {spec.name}: its arms name experiments of {', '.join(sorted(named))}; give one data set."
        )
    return named.pop()
