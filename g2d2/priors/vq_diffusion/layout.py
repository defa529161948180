"""The folder of a VQ-Diffusion prior: which files each component has, and the numbers its configurations state."""

from dataclasses import dataclass
from pathlib import Path

from g2d2.priors.component_files import DIFFUSERS, TRANSFORMERS
from g2d2.priors.pipeline_folders import PipelineFolder
from operators.errors import InputError

CONFIG_FILES = {
    "vqvae": "config.json",
    "transformer": "config.json",
    "scheduler": "scheduler_config.json",
    "text_encoder": "config.json",
    "tokenizer": "tokenizer_config.json",
    "learned_classifier_free_sampling_embeddings": "config.json",
}
"""The file a component cannot do without, besides its weights."""

WEIGHTS = {
    "vqvae": DIFFUSERS,
    "transformer": DIFFUSERS,
    "text_encoder": TRANSFORMERS,
    "learned_classifier_free_sampling_embeddings": DIFFUSERS,
}
"""Components with weights, and what these are called."""

COMPONENTS = tuple(CONFIG_FILES)

LAYOUT = PipelineFolder(CONFIG_FILES, WEIGHTS)


@dataclass(frozen=True)
class Shape:
    """What a prior is about, in the numbers a user asks for."""

    image_size: tuple[int, int]
    tokens: tuple[int, int]
    codes: int
    code_width: int
    train_steps: int
    text_width: int
    layers: int

    def __str__(self) -> str:
        (height, width), (rows, columns) = self.image_size, self.tokens
        return f"{width}x{height} pixels, {columns}x{rows} tokens, {self.codes} codes"


def read_shape(folder: Path) -> Shape:
    """Shape as the configurations state it; `check_folder` compares it with the weights."""
    configs = LAYOUT.read_configs(folder)
    vqvae, transformer, scheduler = configs["vqvae"], configs["transformer"], configs["scheduler"]
    try:
        side = int(transformer["sample_size"])
        scale = 2 ** (len(vqvae["block_out_channels"]) - 1)
        return Shape(
            image_size=(side * scale, side * scale),
            tokens=(side, side),
            codes=int(vqvae["num_vq_embeddings"]),
            code_width=int(vqvae.get("vq_embed_dim") or vqvae["latent_channels"]),
            train_steps=int(scheduler.get("num_train_timesteps", 100)),
            text_width=int(transformer["cross_attention_dim"]),
            layers=int(transformer.get("num_layers", 1)),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"prior: the configurations in {folder} do not describe a VQ-Diffusion model ({error})."
        ) from None
