"""The model card's numbers: reconstruction, code usage, and what the prior knows at each noise level."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from diffusers.pipelines.deprecated.vq_diffusion.pipeline_vq_diffusion import VQDiffusionPipeline
from torch import Tensor

from g2d2.priors.vq_diffusion import COMPONENT_CLASSES
from g2d2.training.data import PROMPTS, Split, to_float
from g2d2.training.loop import step_generator
from g2d2.training.text import encode_ids, prompt_ids
from g2d2.training.vqvae import decode_tokens, encode_tokens, psnr

SHARES = (0.25, 0.5, 0.75, 1.0)
Distance = Callable[[Tensor, Tensor], Tensor]


def evaluate(
    pipeline: VQDiffusionPipeline, test: Split, train_counts: Tensor, lpips: Distance | None
) -> dict[str, Any]:
    """All numbers of the model card over a held-out split; `lpips` takes two batches in [-1, 1]."""
    vqvae = pipeline.vqvae
    tokens = encode_tokens(vqvae, test.images)  # (N, D)
    return {
        "images": len(test),
        "tokens": tokens.shape[1],
        "parameters": parameters(pipeline),
        "reconstruction": reconstruction(pipeline, test, tokens, lpips),
        "codes": code_usage(tokens, vqvae.config.num_vq_embeddings),
        "unigram_nats": unigram_nats(tokens, train_counts),
        "nats": {f"{share:.0%}": nats_at(pipeline, tokens, test.labels, share) for share in SHARES},
    }


def parameters(pipeline: VQDiffusionPipeline) -> dict[str, int]:
    """Parameters of each network."""
    networks = {name: getattr(pipeline, name) for name in COMPONENT_CLASSES}
    return {
        name: sum(weight.numel() for weight in network.parameters())
        for name, network in networks.items()
        if isinstance(network, torch.nn.Module)
    }


def reconstruction(
    pipeline: VQDiffusionPipeline, test: Split, tokens: Tensor, lpips: Distance | None
) -> dict[str, float]:
    """PSNR, and LPIPS if a network is given, of the decoded tokens of the truth."""
    scores: dict[str, list[Tensor]] = {"psnr": [], "lpips": []}
    for rows in torch.split(torch.arange(len(test)), 250):
        truth = to_float(test.images[rows]).to(pipeline.device)
        images = decode_tokens(pipeline.vqvae, tokens[rows])
        scores["psnr"].append(psnr(images, truth))
        if lpips is not None:
            scores["lpips"].append(lpips(images, truth).flatten())
    return {name: torch.cat(values).mean().item() for name, values in scores.items() if values}


def code_usage(tokens: Tensor, codes: int) -> dict[str, float]:
    """How many codes occur, and the perplexity of their frequencies."""
    shares = torch.bincount(tokens.flatten(), minlength=codes).double()
    shares = shares / shares.sum()
    entropy = -(shares * shares.clamp(min=1e-12).log()).sum()
    return {"total": codes, "used": int((shares > 0).sum()), "perplexity": entropy.exp().item()}


def unigram_nats(tokens: Tensor, train_counts: Tensor) -> float:
    """Cross entropy of held-out tokens under the training frequencies: what a prior without context pays."""
    log_p = ((train_counts + 1).double() / (train_counts + 1).sum()).log()
    return -log_p[tokens].mean().item()


@torch.no_grad()
def nats_at(
    pipeline: VQDiffusionPipeline, tokens: Tensor, labels: Tensor, share: float, batch: int = 64
) -> dict[str, float]:
    """Nats per masked token with exactly this share masked, given the prompt and given none.

    Where tokens are left, `kept` is the mean probability that the prior gives them, with the prompt.
    """
    transformer, device = pipeline.transformer, pipeline.device
    count = round(share * tokens.shape[1])
    # The scheduler masks (t + 1) / T of the tokens at index t, to within one part in a million.
    t = torch.tensor(round(share * transformer.config.num_embeds_ada_norm) - 1, device=device)
    prompts = encode_ids(pipeline.text_encoder, prompt_ids(pipeline.tokenizer, PROMPTS).to(device))
    nothing = pipeline.learned_classifier_free_sampling_embeddings.embeddings
    order = torch.rand(tokens.shape, generator=step_generator(0, f"mask {share}", 0)).argsort(1)
    masked = order < count  # (N, D)
    sums, kept = {"conditional": 0.0, "unconditional": 0.0}, 0.0
    for rows in torch.split(torch.arange(len(tokens)), batch):
        z_t = tokens[rows].masked_fill(masked[rows], pipeline.scheduler.mask_class).to(device)
        truth = tokens[rows].to(device)
        conditions = {
            "conditional": prompts[labels[rows]],
            "unconditional": nothing.expand(len(rows), -1, -1),
        }
        for name, condition in conditions.items():
            log_p = transformer(z_t, encoder_hidden_states=condition, timestep=t).sample  # (B, K, D)
            nats = -log_p.gather(1, truth[:, None])[:, 0]
            sums[name] += nats[masked[rows].to(device)].sum().item()
            kept += (-nats[~masked[rows].to(device)]).exp().sum().item() if name == "conditional" else 0
    found = {name: total / (count * len(tokens)) for name, total in sums.items()}
    left = (~masked).sum().item()
    return found | ({"kept": kept / left} if left else {})


def count_codes(tokens: Tensor, codes: int) -> Tensor:
    """Training frequencies of the codes, (K,)."""
    return torch.bincount(tokens.flatten().long(), minlength=codes)


def balanced(split: Split, count: int) -> Split:
    """The first images of each class, interleaved: class sizes differ by at most one."""
    ranks = torch.zeros(len(split), dtype=torch.int64)
    for label in set(split.labels.tolist()):
        members = (split.labels == label).nonzero().flatten()
        ranks[members] = torch.arange(len(members))
    keys = ranks * (int(split.labels.max()) + 1) + split.labels
    rows = keys.argsort()[:count]
    return Split(split.images[rows], split.labels[rows])


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


def size_megabytes(folder: Path) -> float:
    """Size of a folder's files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
