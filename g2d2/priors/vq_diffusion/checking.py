"""Check a VQ-Diffusion prior's folder before anything heavy loads: files there, whole, and fitting each other."""

from collections.abc import Mapping
from pathlib import Path

from g2d2.priors.component_files import class_name
from g2d2.priors.json_files import read_json
from g2d2.priors.tensor_shapes import Shapes, component_shapes
from g2d2.priors.vq_diffusion.layout import (
    CONFIG_FILES,
    WEIGHTS,
    Shape,
    read_configs,
    read_shape,
    require_files,
    weight_files,
)
from operators.errors import InputError


def check_folder(folder: Path) -> Shape:
    """The prior's shape, or one sentence that names the first file that is missing, damaged or does not fit."""
    require_files(folder)
    shape = read_shape(folder)
    _check_fit(folder, shape, {name: component_shapes(folder / name, stems) for name, stems in WEIGHTS.items()})
    return shape


def _check_fit(folder: Path, shape: Shape, tensors: Mapping[str, Shapes]) -> None:
    """The components speak of the same codes, tokens and text states, and their weights agree."""
    configs = read_configs(folder)
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
    pooled = class_name(text) == "CLIPTextModelWithProjection"
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
        present = tensors[component].get(name)
        fits = present is not None and all(
            side is None or side == have for side, have in zip(wanted, present, strict=False)
        )
        if not fits:
            sides = "x".join("?" if side is None else str(side) for side in wanted)
            have = "missing" if present is None else "x".join(map(str, present))
            raise InputError(f"prior: {weight_files(folder, component)[0]}: {name} is {have} and must be {sides}.")
