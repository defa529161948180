"""The folder of aMUSEd: its parts, the numbers they state, and how they fit. Imports no model library."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from g2d2.priors.component_files import DIFFUSERS, TRANSFORMERS, class_name
from g2d2.priors.pipeline_folders import PipelineFolder
from operators.errors import InputError
from operators.validation import shorten

LAYOUT = PipelineFolder(
    configs={
        "vqvae": "config.json",
        "transformer": "config.json",
        "scheduler": "scheduler_config.json",
        "text_encoder": "config.json",
        "tokenizer": "tokenizer_config.json",
    },
    weights={"vqvae": DIFFUSERS, "transformer": DIFFUSERS, "text_encoder": TRANSFORMERS},
)
COMPONENTS = tuple(LAYOUT.configs)

MICRO_CONDITIONS = 5
"""Width, height, two of the crop, and a score."""
_CLASSES = {"vqvae": "VQModel", "transformer": "UVit2DModel", "text_encoder": "CLIPTextModelWithProjection"}
_MASKINGS = ("cosine", "linear")
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "vqvae": {"out_channels": 3, "latent_channels": 3, "num_vq_embeddings": 256, "block_out_channels": [64]},
    "transformer": {
        "cond_embed_dim": 768,
        "micro_cond_encode_dim": 256,
        "micro_cond_embed_dim": 1280,
        "encoder_hidden_size": 768,
        "vocab_size": 8256,
        "codebook_size": 8192,
        "num_hidden_layers": 22,
        "sample_size": 64,
    },
    "text_encoder": {"hidden_size": 512, "projection_dim": 512},
}
"""What the libraries take where a configuration leaves a number out."""


@dataclass(frozen=True)
class MaskedShape:
    """What a masked image model is about, in the numbers a user asks for."""

    channels: int
    image_side: int
    token_side: int
    codes: int
    code_width: int
    vocabulary: int
    mask_id: int
    masking: str
    text_width: int
    pooled_width: int
    layers: int

    @property
    def x_shape(self) -> tuple[int, int, int]:
        """(C, H, W)"""
        return self.channels, self.image_side, self.image_side

    def __str__(self) -> str:
        pixels, tokens = (f"{side}x{side}" for side in (self.image_side, self.token_side))
        return f"{pixels} pixels, {tokens} tokens, {self.codes} codes"

    def words(self) -> str:
        """Of the transformer, for people."""
        return (
            f"{self.layers} layers, {self.masking} masking, mask id {self.mask_id} of {self.vocabulary}, text width "
            f"{self.text_width}"
        )


class _Numbers:
    """Whole numbers above 0 of a component's configuration."""

    def __init__(self, folder: Path, component: str, config: Mapping[str, Any]) -> None:
        self.path, self.component, self.config = folder / component / LAYOUT.configs[component], component, config

    def __call__(self, key: str) -> int:
        value = self.config.get(key, _DEFAULTS[self.component].get(key))
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"prior: {self.path} has {key} {shorten(value)}: it must be a whole number above 0.")
        return value

    def must(self, key: str, wanted: int, reason: str) -> None:
        """Refuse another value than the one that fits the other components."""
        if (value := self(key)) != wanted:
            raise InputError(f"prior: {self.path} has {key} {value}; it must be {wanted}, {reason}.")


def read_shape(folder: Path) -> MaskedShape:
    """Shape as the configurations state it, refused where they do not fit each other."""
    configs = LAYOUT.read_configs(folder)
    for name, wanted in _CLASSES.items():
        if (present := class_name(configs[name])) != wanted:
            path = folder / name / LAYOUT.configs[name]
            raise InputError(f"prior: {path} is of {shorten(present)}; it must be of {wanted}.")
    vqvae, transformer, text = (_Numbers(folder, name, configs[name]) for name in _CLASSES)
    codes, encoded = vqvae("num_vq_embeddings"), transformer("micro_cond_encode_dim")
    transformer.must("codebook_size", codes, "the codes of the vqvae's num_vq_embeddings")
    transformer.must("encoder_hidden_size", text("hidden_size"), "the text encoder's hidden_size")
    transformer.must("cond_embed_dim", text("projection_dim"), "the text encoder's projection_dim")
    transformer.must(
        "micro_cond_embed_dim", MICRO_CONDITIONS * encoded, f"{MICRO_CONDITIONS} times its micro_cond_encode_dim"
    )
    blocks = configs["vqvae"].get("block_out_channels", _DEFAULTS["vqvae"]["block_out_channels"])
    if not isinstance(blocks, list) or not blocks:
        raise InputError(f"prior: {vqvae.path} has block_out_channels {shorten(blocks)}: it must be a list of numbers.")
    mask_id, masking = _read_masking(folder, configs["scheduler"], codes, transformer("vocab_size"))
    return MaskedShape(
        channels=vqvae("out_channels"),
        image_side=transformer("sample_size") * 2 ** (len(blocks) - 1),
        token_side=transformer("sample_size"),
        codes=codes,
        code_width=vqvae("latent_channels" if configs["vqvae"].get("vq_embed_dim") is None else "vq_embed_dim"),
        vocabulary=transformer("vocab_size"),
        mask_id=mask_id,
        masking=masking,
        text_width=text("hidden_size"),
        pooled_width=text("projection_dim"),
        layers=transformer("num_hidden_layers"),
    )


def _read_masking(folder: Path, config: Mapping[str, Any], codes: int, vocabulary: int) -> tuple[int, str]:
    """The mask's id, which no code has, and the schedule's name."""
    path = folder / "scheduler" / LAYOUT.configs["scheduler"]
    mask_id, masking = config.get("mask_token_id"), config.get("masking_schedule", "cosine")
    if not isinstance(mask_id, int) or isinstance(mask_id, bool) or not codes <= mask_id < vocabulary:
        raise InputError(
            f"prior: {path} has mask_token_id {shorten(mask_id)}; it must be one of the transformer's {vocabulary} ids "
            f"that is no code, {codes} to {vocabulary - 1}."
        )
    if masking not in _MASKINGS:
        raise InputError(f"prior: {path} has masking_schedule {shorten(masking)}; it must be {' or '.join(_MASKINGS)}.")
    return mask_id, masking


def check_folder(folder: Path) -> MaskedShape:
    """The prior's shape, or one sentence that names the first file that is missing, damaged or does not fit."""
    LAYOUT.require_files(folder)
    shape = read_shape(folder)
    LAYOUT.check_tensors(
        folder,
        {
            ("vqvae", "quantize.embedding.weight"): (shape.codes, shape.code_width),
            ("transformer", "embed.embeddings.weight"): (shape.vocabulary, None),
            ("transformer", "mlm_layer.conv2.weight"): (shape.codes, None),
            ("text_encoder", "text_projection.weight"): (shape.pooled_width, shape.text_width),
        },
    )
    return shape
