"""Check a VQ-Diffusion prior's folder before anything heavy loads: files there, whole, and fitting each other."""

from pathlib import Path

from g2d2.priors.component_files import class_name
from g2d2.priors.json_files import read_json
from g2d2.priors.pipeline_folders import Sides
from g2d2.priors.vq_diffusion.layout import CONFIG_FILES, LAYOUT, Shape, read_shape
from operators.errors import InputError


def check_folder(folder: Path) -> Shape:
    """The prior's shape, or one sentence that names the first file that is missing, damaged or does not fit."""
    LAYOUT.require_files(folder)
    shape = read_shape(folder)
    _check_fit(folder, shape)
    return shape


def _check_fit(folder: Path, shape: Shape) -> None:
    """The components speak of the same codes, tokens and text states, and their weights agree."""
    configs = LAYOUT.read_configs(folder)
    classes = shape.codes + 1  # every code and the mask
    for component, key in (("transformer", "num_vector_embeds"), ("scheduler", "num_vec_classes")):
        value = configs[component].get(key)
        if value != classes:
            file = folder / component / CONFIG_FILES[component]
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
    expected: dict[tuple[str, str], Sides] = {
        ("vqvae", "quantize.embedding.weight"): (shape.codes, shape.code_width),
        ("transformer", "latent_image_embedding.emb.weight"): (classes, None),
        ("transformer", "latent_image_embedding.height_emb.weight"): (shape.tokens[0], None),
        ("transformer", "out.weight"): (shape.codes, None),
    }
    blank = read_json(folder / "learned_classifier_free_sampling_embeddings" / "config.json")
    if blank.get("learnable"):
        length = 1 if pooled else text.get("max_position_embeddings", 77)
        expected["learned_classifier_free_sampling_embeddings", "embeddings"] = (length, shape.text_width)
    LAYOUT.check_tensors(folder, expected)
