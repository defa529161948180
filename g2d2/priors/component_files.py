"""Files of a component as diffusers and transformers write them: configurations, and weights whole or in parts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from g2d2.priors.json_files import read_json
from operators.errors import InputError

INDEX_ENDING = ".index.json"


class Stems(NamedTuple):
    """What a library calls its files of weights, by format."""

    safetensors: str
    pickled: str


DIFFUSERS = Stems("diffusion_pytorch_model", "diffusion_pytorch_model")
TRANSFORMERS = Stems("model", "pytorch_model")


def weights_path(component: Path, stems: Stems) -> Path | None:
    """A component's weights, or the index of their parts: safetensors, else plain pickled tensors.

    Other precisions are left alone.
    """
    for stem, ending in ((stems.safetensors, ".safetensors"), (stems.pickled, ".bin")):
        names = (f"{stem}{ending}", f"{stem}{ending}{INDEX_ENDING}")
        present = [path for name in names if (path := component / name).is_file()]
        if len(present) > 1:  # the libraries do not agree on which to take
            raise InputError(f"prior: {component} has {' and '.join(names)}; keep the one that is meant.")
        if present:
            return present[0]
    return None


def weight_files(component: Path, stems: Stems) -> list[Path]:
    """The files whose tensors are loaded."""
    path = weights_path(component, stems)
    if path is None:
        return []
    if not path.name.endswith(INDEX_ENDING):
        return [path]
    return [component / name for name in sorted(set(weight_map(path).values()))]


def weight_map(index: Path) -> dict[str, str]:
    """The file of every tensor, by an index of weights in parts."""
    places, ending = read_json(index).get("weight_map"), Path(index.name.removesuffix(INDEX_ENDING)).suffix
    if not isinstance(places, dict) or not places:
        raise InputError(f"prior: {index} has no weight_map from tensors to files.")
    for tensor, file in places.items():
        if not isinstance(file, str) or Path(file).name != file or not file.endswith(ending):
            raise InputError(
                f"prior: {index}: weight_map has {file!r} for tensor {tensor!r}; it must name a {ending} file of the "
                "same folder."
            )
    return places


def has_safetensors(component: Path, stems: Stems) -> bool:
    """Whether a component's weights are safetensors, whole or in parts."""
    path = weights_path(component, stems)
    return path is not None and ".safetensors" in path.suffixes


def class_name(config: Mapping[str, Any]) -> str | None:
    """Of the class that wrote a configuration, as diffusers or transformers note it."""
    written = config.get("architectures")
    names = [config.get("_class_name"), *(written if isinstance(written, list) else [])]
    return next((name for name in names if isinstance(name, str)), None)


def config_files(component: Path) -> list[Path]:
    """Everything but weights that decides what a component computes."""
    return sorted(path for ending in ("json", "txt") for path in component.glob(f"*.{ending}"))


def require_weights(component: Path, stems: Stems, name: str) -> None:
    """Refuse a component that lacks a file of its weights; none is opened but an index of parts."""
    present = weight_files(component, stems)
    if not present:
        raise InputError(
            f"prior: component {name!r} has no weights: {component / stems.safetensors}.safetensors is missing."
        )
    for path in present:
        if not path.is_file():
            raise InputError(f"prior: component {name!r} is incomplete: {path} is missing.")


def written_by(config: Path) -> str | None:
    """The class that wrote a configuration file; None where there is none to read."""
    try:
        return class_name(read_json(config))
    except InputError:
        return None
