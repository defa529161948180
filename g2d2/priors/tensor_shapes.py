"""Names and shapes of a component's tensors, without loading a network."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open

from g2d2.priors.component_files import INDEX_ENDING, Stems, weight_files, weight_map, weights_path
from operators.errors import InputError

Shapes = Mapping[str, tuple[int, ...]]


def component_shapes(component: Path, stems: Stems) -> Shapes:
    """Every tensor with its shape; damaged files, and parts that their index does not describe, are refused."""
    files = {
        path.name: _safetensors_shapes(path) if path.suffix == ".safetensors" else _pickle_shapes(path)
        for path in weight_files(component, stems)
    }
    index = weights_path(component, stems)
    if index is not None and index.name.endswith(INDEX_ENDING):
        held = {(tensor, file) for file, shapes in files.items() for tensor in shapes}
        for tensor, file in sorted(held ^ set(weight_map(index).items())):
            raise InputError(f"prior: {index} and {file} beside it do not agree on whether that holds {tensor!r}.")
    return {tensor: shape for shapes in files.values() for tensor, shape in shapes.items()}


def _safetensors_shapes(path: Path) -> Shapes:
    """Names and shapes from the header, which must cover the file's bytes exactly."""
    try:
        with safe_open(path, framework="np") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(
            f"prior: {path} is cut short or not a safetensors file: {path.stat().st_size} bytes ({reason})."
        ) from None


def _pickle_shapes(path: Path) -> Shapes:
    from g2d2.priors.plain_tensors import read_plain  # torch, which safetensors do not need

    content = read_plain(path)
    if not isinstance(content, Mapping):
        raise InputError(f"checkpoint {path}: it holds a {type(content).__name__}, not named tensors.")
    return {name: tuple(value.shape) for name, value in content.items() if hasattr(value, "shape")}
