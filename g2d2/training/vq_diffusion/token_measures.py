"""The model card's numbers: reconstruction, code usage, and what the prior knows at each noise level."""

from typing import Any

import torch
from diffusers.pipelines.deprecated.vq_diffusion.pipeline_vq_diffusion import VQDiffusionPipeline
from torch import Tensor

from g2d2.training.data import PROMPTS, Split, to_float
from g2d2.training.image_scores import Distance, reconstruction_scores
from g2d2.training.reporting import count_parameters
from g2d2.training.token_statistics import SHARES, code_usage, masked_nats, unigram_nats
from g2d2.training.vq_diffusion.prompt_text import encode_ids, prompt_ids
from g2d2.training.vq_diffusion.vqvae import decode_tokens, encode_tokens


def evaluate(
    pipeline: VQDiffusionPipeline, test: Split, train_counts: Tensor, lpips: Distance | None
) -> dict[str, Any]:
    """All numbers of the model card over a held-out split; `lpips` takes two batches in [-1, 1]."""
    vqvae = pipeline.vqvae
    tokens = encode_tokens(vqvae, test.images)  # (N, D)
    return {
        "images": len(test),
        "tokens": tokens.shape[1],
        "parameters": count_parameters(pipeline.components),
        "reconstruction": reconstruction_scores(
            lambda rows: decode_tokens(vqvae, tokens[rows]), to_float(test.images), lpips
        ),
        "codes": code_usage(tokens, vqvae.config.num_vq_embeddings),
        "unigram_nats": unigram_nats(tokens, train_counts),
        "nats": {f"{share:.0%}": nats_at(pipeline, tokens, test.labels, share) for share in SHARES},
    }


@torch.no_grad()
def nats_at(pipeline: VQDiffusionPipeline, tokens: Tensor, labels: Tensor, share: float) -> dict[str, float]:
    """Nats per masked token with exactly this share masked, at the timestep that masks as many."""
    transformer, device = pipeline.transformer, pipeline.device
    # The scheduler masks (t + 1) / T of the tokens at index t, to within one part in a million.
    t = torch.tensor(round(share * transformer.config.num_embeds_ada_norm) - 1, device=device)
    prompts = encode_ids(pipeline.text_encoder, prompt_ids(pipeline.tokenizer, PROMPTS).to(device))
    nothing = pipeline.learned_classifier_free_sampling_embeddings.embeddings

    def predict(z_t: Tensor, rows: Tensor, prompted: bool) -> Tensor:
        condition = prompts[rows] if prompted else nothing.expand(len(rows), -1, -1)
        log_p: Tensor = transformer(z_t, encoder_hidden_states=condition, timestep=t).sample
        return log_p

    return masked_nats(predict, tokens, labels, share, pipeline.scheduler.mask_class, device)


def sample(pipeline: VQDiffusionPipeline, prompts: list[str], seed: int, guidance: float, truncation: float) -> Tensor:
    """Images of the stock pipeline, (B, 3, 32, 32) in [0, 1]."""
    images = pipeline(
        prompts,
        num_inference_steps=pipeline.transformer.config.num_embeds_ada_norm,
        guidance_scale=guidance,
        truncation_rate=truncation,
        generator=torch.Generator().manual_seed(seed),
        output_type="numpy",
    ).images
    return torch.from_numpy(images).permute(0, 3, 1, 2)
