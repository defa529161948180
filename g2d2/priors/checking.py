"""Check a prior's folder before anything heavy loads: files there, whole, as published, and fitting each other."""

import math
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open

from g2d2.priors.catalog import KnownPrior
from g2d2.priors.digest import file_digest, prior_digest
from g2d2.priors.layout import (
    CONFIG_FILES,
    INDEX_ENDING,
    TOKENIZER_FILES,
    WEIGHT_STEMS,
    Shape,
    read_configs,
    read_json,
    read_shape,
    require_folders,
    weight_files,
    weight_map,
    weights_path,
)
from operators.errors import InputError
from operators.local_paths import local_path

Shapes = Mapping[str, tuple[int, ...]]

_ROUNDING = 0.005
"""Relative error of a size stated to three digits."""


def check_folder(folder: str | Path, known: KnownPrior | None = None) -> Shape:
    """The prior's shape, or one sentence that names the first file that is missing, damaged or does not fit."""
    folder = local_path(folder, "prior")
    if not folder.is_dir():
        raise InputError(f"prior: {folder} is not a folder.")
    require_folders(folder, str(folder))
    _check_presence(folder)
    shape = read_shape(folder)
    tensors = {name: _component_shapes(folder, name) for name in WEIGHT_STEMS}
    _check_fit(folder, tensors)
    if known is not None:
        _check_published(folder, known)
    return shape


def _check_presence(folder: Path) -> None:
    for name, files in CONFIG_FILES.items():
        for file in files:
            if not (folder / name / file).is_file():
                raise InputError(f"prior: component {name!r} is incomplete: {folder / name / file} is missing.")
    if not any(all((folder / "tokenizer" / file).is_file() for file in files) for files in TOKENIZER_FILES):
        wanted = " or ".join(" and ".join(files) for files in TOKENIZER_FILES)
        raise InputError(f"prior: component 'tokenizer' is incomplete: {folder / 'tokenizer'} has no {wanted}.")
    for name, stem in WEIGHT_STEMS.items():
        files_found = weight_files(folder, name)
        if not files_found:
            raise InputError(
                f"prior: component {name!r} has no weights: {folder / name / stem}.safetensors is missing."
            )
        for path in files_found:
            if not path.is_file():
                raise InputError(f"prior: component {name!r} is incomplete: {path} is missing.")


def _component_shapes(folder: Path, name: str) -> Shapes:
    files = {
        path.name: _safetensors_shapes(path) if path.suffix == ".safetensors" else _pickle_shapes(path)
        for path in weight_files(folder, name)
    }
    index = weights_path(folder, name)
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


def _check_fit(folder: Path, tensors: Mapping[str, Shapes]) -> None:
    """The components speak of the same codes, tokens and text states, and their weights agree."""
    configs = read_configs(folder)
    shape = read_shape(folder)
    classes = shape.codes + 1  # every code and the mask
    for component, key in (("transformer", "num_vector_embeds"), ("scheduler", "num_vec_classes")):
        value = configs[component].get(key)
        if value != classes:
            file = folder / component / CONFIG_FILES[component][0]
            raise InputError(
                f"prior: {file} has {key} {value}, which does not fit the codebook of {shape.codes} codes; "
                f"it must be {classes}."
            )
    text = configs["text_encoder"]
    pooled = "CLIPTextModelWithProjection" in (text.get("architectures") or [])
    key = "projection_dim" if pooled else "hidden_size"
    width = text.get(key, 512)
    if width != shape.text_width:
        file = folder / "text_encoder" / "config.json"
        raise InputError(
            f"prior: {file} has {key} {width}, which does not fit the transformer's cross_attention_dim "
            f"{shape.text_width}."
        )
    expected = {
        ("vqvae", "quantize.embedding.weight"): (shape.codes, shape.code_width),
        ("transformer", "latent_image_embedding.emb.weight"): (classes, None),
        ("transformer", "latent_image_embedding.height_emb.weight"): (shape.tokens[0], None),
        ("transformer", "out.weight"): (shape.codes, None),
    }
    blank = read_json(folder / "learned_classifier_free_sampling_embeddings" / "config.json")
    if blank.get("learnable"):
        length = 1 if pooled else text.get("max_position_embeddings", 77)
        expected["learned_classifier_free_sampling_embeddings", "embeddings"] = (length, shape.text_width)
    for (component, name), wanted in expected.items():
        found = tensors[component].get(name)
        if found is None or any(side is not None and side != have for side, have in zip(wanted, found, strict=False)):
            told = "x".join("?" if side is None else str(side) for side in wanted)
            have = "missing" if found is None else "x".join(map(str, found))
            raise InputError(f"prior: {weight_files(folder, component)[0]}: {name} is {have} and must be {told}.")


def _check_published(folder: Path, known: KnownPrior) -> None:
    """Sizes and digests as the publisher states them, for the files that are there under the publisher's names."""
    for file in known.files:
        path = folder / file.path
        if not path.is_file():
            continue  # a copy saved anew holds the same weights under another name; its structure was checked above
        size = path.stat().st_size
        if not math.isclose(size, file.size, rel_tol=0 if file.exact else _ROUNDING):
            about = "" if file.exact else "about "
            raise InputError(f"prior: {path} has {size} bytes; {known.name!r} publishes it with {about}{file.size}.")
        if file.sha256 is not None and (found := file_digest(path)) != file.sha256:
            raise InputError(f"prior: {path} has SHA-256 {found}; {known.name!r} publishes it with {file.sha256}.")
    if known.digest is not None and (found := prior_digest(folder)) != known.digest:
        raise InputError(f"prior: {folder} has digest {found}; {known.name!r} is published with {known.digest}.")
