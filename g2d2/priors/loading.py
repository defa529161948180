"""Load a prior on a device, in a precision, with the weights the work was planned with."""

from pathlib import Path

import torch

from g2d2.choices import Compile
from g2d2.priors.base import Prior
from g2d2.priors.compiling import with_graphs
from g2d2.priors.locating import LocatedPrior, locate_prior
from g2d2.priors.probe import PROBE_ROWS
from operators import InputError
from operators.torch_device import usable_device

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float64": torch.float64,
}


def load_prior(
    source: str | Path | LocatedPrior,
    *,
    device: torch.device | str = "cpu",
    dtype: str = "float32",
    channels_last: bool = False,
    compile_networks: Compile = False,
    rows: int = PROBE_ROWS,
    digest: str | None = None,
) -> Prior:
    """A frozen prior from a name of the catalog (`cifar10`), a folder, a hub id or `module:Thing` of one's own.

    `rows` is the batch a compiled prior is compiled and tried for; with `digest` a prior of another one is refused.
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype: {dtype!r} is unknown; choose one of {', '.join(DTYPES)}.")
    place = usable_device(device)
    with_graphs(compile_networks, place)  # before anything is read
    located = source if isinstance(source, LocatedPrior) else locate_prior(source)
    prior = located.family.load(
        located.place,
        device=place,
        dtype=DTYPES[dtype],
        channels_last=channels_last,
        compile_networks=compile_networks,
        rows=rows,
    )
    # after loading: files that are written anew meanwhile are then noticed too
    if digest is not None and (present := located.digest()) != digest:
        raise InputError(
            f"prior: {located.source!r} has digest {present[:12]} on this machine, but the work was planned with "
            f"{digest[:12]}: its files were changed since, or differ between machines; plan again."
        )
    return prior
