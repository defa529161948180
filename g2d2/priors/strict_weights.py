"""Put a component's files into its network strictly: no tensor missing, none left over, none of another shape.

Left to themselves, the libraries behind the networks fill what is missing with random numbers.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diffusers.models.modeling_utils import ModelMixin
from diffusers.utils import logging as diffusers_logging
from safetensors.torch import load_file
from torch import Tensor
from transformers.utils import logging as transformers_logging

from g2d2.priors.component_files import DIFFUSERS, TRANSFORMERS, has_safetensors, weight_files, weights_path
from g2d2.priors.plain_tensors import read_plain
from operators import InputError


def load_part(kind: Any, folder: Path, name: str, *, weights: bool = True) -> Any:
    """A component by its class, strictly where it has weights; one sentence where it cannot be loaded."""
    try:
        if weights:
            return load_network(kind, folder, name)
        with quiet_libraries():
            return kind.from_pretrained(str(folder), subfolder=name, local_files_only=True)
    except InputError:
        raise
    except Exception as error:  # every loader has its own zoo of exceptions for a damaged or missing file
        reason = " ".join(str(error).split())[:200]
        part = f"component {name!r} of {str(folder)!r}" if name else f"the network in {str(folder)!r}"
        raise InputError(f"prior: {part} cannot be loaded ({reason}).") from error


def load_network(kind: Any, folder: Path, name: str) -> Any:
    """The network of a component, with exactly the weights that a prior's digest covers.

    An empty name is a network that lies in the folder itself.
    """
    component = folder / name
    stems = DIFFUSERS if issubclass(kind, ModelMixin) else TRANSFORMERS
    with quiet_libraries():
        if stems is DIFFUSERS:
            network, report = kind.from_pretrained(
                str(folder),
                subfolder=name or None,
                local_files_only=True,
                use_safetensors=has_safetensors(component, stems),  # left to itself, diffusers logs an error per guess
                low_cpu_mem_usage=False,  # the sparing way needs another package, which diffusers would recommend
                ignore_mismatched_sizes=True,  # they are in the report
                output_loading_info=True,
            )
        else:  # by a folder, transformers would also take adapters and weights that a configuration names elsewhere
            network, report = kind.from_pretrained(
                None,
                config=kind.config_class.from_pretrained(str(component), local_files_only=True),
                state_dict=_read_tensors(weight_files(component, stems)),
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
    _refuse_misfits(weights_path(component, stems), report)
    return network


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """No progress bars, which are drawn even into log files, and no warnings about what is refused here anyway."""
    libraries = (diffusers_logging, transformers_logging)
    levels = [library.get_verbosity() for library in libraries]
    for library in libraries:
        library.disable_progress_bar()
        library.set_verbosity_error()
    try:
        yield
    finally:
        for library, level in zip(libraries, levels, strict=True):
            library.set_verbosity(level)


def _read_tensors(files: Iterable[Path]) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in files:
        tensors |= load_file(path) if path.suffix == ".safetensors" else read_plain(path)
    # files are mapped into memory: one that is written anew in place must not reach a network that is at work
    return {key: value.clone() for key, value in tensors.items()}


def _refuse_misfits(path: Path | None, report: Mapping[str, Any]) -> None:
    for name, present, wanted in sorted(report["mismatched_keys"]):
        sides = ["x".join(map(str, shape)) for shape in (present, wanted)]
        raise InputError(
            f"prior: {path}: tensor {name!r} is {sides[0]}, and the configuration beside it asks for {sides[1]}."
        )
    for name in sorted(report["missing_keys"]):
        raise InputError(f"prior: {path} has no tensor {name!r}, which the configuration beside it asks for.")
    for name in sorted(report["unexpected_keys"]):
        raise InputError(f"prior: {path} has a tensor {name!r}, which the configuration beside it knows nothing of.")
    if report.get("error_msgs"):
        raise InputError(f"prior: {path} cannot be loaded ({' '.join(str(report['error_msgs'][0]).split())[:200]}).")
