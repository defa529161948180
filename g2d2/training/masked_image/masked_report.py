"""`report_masked`: reconstructions, nats of masked tokens and samples of an exported masked prior."""

from collections.abc import Callable
from typing import Any

import torch
from diffusers import AmusedScheduler, UVit2DModel, VQModel
from diffusers.pipelines.deprecated.amused.pipeline_amused import AmusedPipeline
from safetensors.torch import load_file
from torch import Tensor
from transformers import CLIPTextModelWithProjection, CLIPTokenizer

from g2d2.training.data import PROMPTS, balanced, to_float
from g2d2.training.figures import Panel, rows_apart, save_curves, save_sheet
from g2d2.training.folders import size_megabytes
from g2d2.training.image_scores import Distance, reconstruction_scores
from g2d2.training.loop import History
from g2d2.training.masked_image.masked_card import masked_card
from g2d2.training.masked_image.masked_settings import MaskedRecipe
from g2d2.training.masked_image.unit_range import decode_unit_tokens, encode_unit_tokens
from g2d2.training.masked_image.uvit_stage import MICRO_CONDITIONS
from g2d2.training.reporting import count_parameters, write_report
from g2d2.training.run import read_curve, read_split, take_device
from g2d2.training.token_statistics import SHARES, code_usage, count_codes, masked_nats, unigram_nats
from g2d2.training.vq_diffusion.prompt_text import prompt_ids

_KINDS = {
    "vqvae": VQModel,
    "tokenizer": CLIPTokenizer,
    "text_encoder": CLIPTextModelWithProjection,
    "transformer": UVit2DModel,
    "scheduler": AmusedScheduler,
}
SHEETS = {"samples.png": 0.0, "samples-guided.png": 3.0}
"""Guidance of each sample sheet in the pipeline's own measure; 0 goes by the prompt alone."""


def report_masked(
    recipe: MaskedRecipe, lpips: Distance | None = None, images: int = 512, log: Callable[[str], None] = print
) -> dict[str, Any]:
    """Measure `out`/export on held-out images; write numbers, card, curves and sheets, and return the numbers."""
    pipeline = load_amused(recipe, take_device(recipe))
    vqvae = pipeline.vqvae
    held_out = balanced(read_split(recipe, "test"), images)
    tokens = encode_unit_tokens(vqvae, held_out.images)  # (N, D)
    codes = vqvae.config.num_vq_embeddings
    counts = count_codes(load_file(recipe.out / "tokens.safetensors")["tokens"], codes)
    curves = {name: read_curve(recipe.out, name) for name in ("range", "uvit")}
    numbers = {
        "images": len(held_out),
        "tokens": tokens.shape[1],
        "mask_id": pipeline.scheduler.config.mask_token_id,
        "parameters": count_parameters(pipeline.components),
        "reconstruction": reconstruction_scores(
            lambda rows: decode_unit_tokens(vqvae, tokens[rows]), to_float(held_out.images), lpips
        ),
        "codes": code_usage(tokens, codes),
        "unigram_nats": unigram_nats(tokens, counts),
        "nats": {f"{share:.0%}": nats_at(pipeline, tokens, held_out.labels, share) for share in SHARES},
        "megabytes": size_megabytes(recipe.exported),
    }
    write_report(recipe, numbers, curves, masked_card(recipe, numbers, curves), log)
    save_curves(_panels(curves, float(numbers["unigram_nats"])), recipe.out / "curves.png")
    decoded = decode_unit_tokens(vqvae, tokens[:40]).cpu()
    pairs = rows_apart([to_float(held_out.images[:40]), decoded], 10)
    save_sheet(pairs / 2 + 0.5, 10, recipe.out / "reconstructions.png")
    for name, guidance in SHEETS.items():
        # One column per class, so that the prompt's effect is seen from column to column.
        save_sheet(sample(pipeline, list(PROMPTS) * 4, recipe.seed, guidance), len(PROMPTS), recipe.out / name)
    return numbers


def load_amused(recipe: MaskedRecipe, device: torch.device) -> AmusedPipeline:
    """The stock pipeline from the exported folder, component by component: the pipeline's class is a deprecated one."""
    parts = {name: kind.from_pretrained(recipe.exported, subfolder=name) for name, kind in _KINDS.items()}
    pipeline = AmusedPipeline(**parts)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


@torch.no_grad()
def nats_at(pipeline: AmusedPipeline, tokens: Tensor, labels: Tensor, share: float) -> dict[str, float]:
    """Nats per masked token with exactly this share masked, with the prompt and with the empty one."""
    device, side = pipeline.device, pipeline.transformer.config.sample_size
    ids = prompt_ids(pipeline.tokenizer, (*PROMPTS, "")).to(device)
    states = pipeline.text_encoder(ids, output_hidden_states=True)
    micro = torch.tensor(MICRO_CONDITIONS, dtype=torch.float32, device=device)

    def predict(masked: Tensor, rows: Tensor, prompted: bool) -> Tensor:
        rows = rows if prompted else torch.full_like(rows, len(PROMPTS))
        logits: Tensor = pipeline.transformer(
            masked.view(-1, side, side),
            encoder_hidden_states=states.hidden_states[-2][rows],
            pooled_text_emb=states.text_embeds[rows],
            micro_conds=micro.expand(len(rows), -1),
        )
        return logits.flatten(2).log_softmax(1)

    return masked_nats(predict, tokens, labels, share, pipeline.scheduler.config.mask_token_id, device)


def sample(pipeline: AmusedPipeline, prompts: list[str], seed: int, guidance: float) -> Tensor:
    """Images of the stock pipeline in its own twelve steps, (B, 3, H, W) in [0, 1]."""
    generator = torch.Generator().manual_seed(seed)
    drawn = pipeline(prompts, guidance_scale=guidance, generator=generator, output_type="np")
    return torch.from_numpy(drawn.images).permute(0, 3, 1, 2)


def _panels(curves: dict[str, History], unigram: float) -> list[Panel]:
    lines = {
        "loss": ("training batch, masked tokens", "#c9c9c9"),
        "held_out_nats": ("held out, masked tokens", "#b5462f"),
        "held_out_kept": ("held out, kept tokens", "#2f7d5b"),
    }
    return [
        Panel("Tokeniser for [0, 1]", "PSNR [dB]", curves["range"], {"held_out_psnr": ("held out", "#1f5fa8")}),
        Panel("Prior", "nats per token", curves["uvit"], lines, ("unigram", unigram)),
    ]
