"""Stage one: the image tokeniser, a diffusers `VQModel` trained by reconstruction."""

import torch
from diffusers import VQModel
from torch import Tensor
from torch.nn import functional as F

from g2d2.training.data import SIDE, Split, to_float
from g2d2.training.image_scores import psnr
from g2d2.training.loop import cosine_lr, step_generator
from g2d2.training.run import drawing
from g2d2.training.token_statistics import code_usage
from g2d2.training.vq_diffusion.codebook import MovingCodebook, QuantisedStage, kmeans, nearest
from g2d2.training.vq_diffusion.vq_recipe import VQDiffusionRecipe, VQVAESettings

_KMEANS_IMAGES = 512


def build_vqvae(settings: VQVAESettings) -> VQModel:
    """A `VQModel` without mid-block attention: solvers call the decoder thousands of times."""
    levels = len(settings.channels)
    return VQModel(
        block_out_channels=settings.channels,
        down_block_types=("DownEncoderBlock2D",) * levels,
        up_block_types=("UpDecoderBlock2D",) * levels,
        layers_per_block=settings.layers_per_block,
        norm_num_groups=settings.groups,
        latent_channels=settings.code_dim,
        vq_embed_dim=settings.code_dim,
        num_vq_embeddings=settings.codes,
        sample_size=SIDE,
        mid_block_add_attention=False,
    )


def token_side(settings: VQVAESettings) -> int:
    """Side of the token grid."""
    return SIDE >> (len(settings.channels) - 1)


@torch.no_grad()
def encode_tokens(vqvae: VQModel, images: Tensor, batch: int = 64) -> Tensor:
    """Token ids of byte images, (N, 3, 32, 32) -> (N, D) int64."""
    device = vqvae.device
    codes = vqvae.quantize.embedding.weight
    side = images.shape[-1] >> (len(vqvae.config.block_out_channels) - 1)
    # One tensor made beforehand: small results kept between large temporaries pin the allocator's heap, 12 GB of it.
    tokens = torch.empty((len(images), side * side), dtype=torch.int64)
    for start in range(0, len(images), batch):
        chunk = images[start : start + batch]
        latents = vqvae.encode(to_float(chunk.to(device))).latents  # (B, C, h, w)
        flat = latents.permute(0, 2, 3, 1).reshape(-1, latents.shape[1])
        tokens[start : start + batch] = nearest(flat, codes).view(len(chunk), -1).cpu()
    return tokens


@torch.no_grad()
def decode_tokens(vqvae: VQModel, tokens: Tensor) -> Tensor:
    """Images in [-1, 1] of token ids, (B, D) -> (B, 3, 32, 32)."""
    side = round(tokens.shape[1] ** 0.5)
    shape = (len(tokens), side, side, vqvae.config.vq_embed_dim)
    quantised = vqvae.quantize.get_codebook_entry(tokens.to(vqvae.device), shape=shape)
    images: Tensor = vqvae.decode(quantised, force_not_quantize=True).sample
    return images.clamp(-1, 1)


class VQVAEStage(QuantisedStage[VQModel]):
    """Trains without quantisation first, then with a k-means codebook kept by moving averages."""

    name = "vqvae"

    def __init__(self, recipe: VQDiffusionRecipe, train: Split, held_out: Tensor, device: torch.device) -> None:
        self.settings, self.seed, self.bf16 = recipe.vqvae, recipe.seed, recipe.bf16
        self.draw, self.device = drawing(train.images), device
        self.held_out = held_out  # (N, 3, 32, 32) uint8
        torch.manual_seed(recipe.seed)
        self.vqvae = build_vqvae(self.settings).to(device)
        codes = self.vqvae.quantize.embedding.weight.requires_grad_(False)
        self.codebook = MovingCodebook(codes, self.settings.code_decay, self.settings.dead_share)
        self.quantised = False
        self.trained = [p for p in self.vqvae.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=self.settings.lr, betas=(0.9, 0.95), weight_decay=0)

    def step(self, index: int, fraction: float) -> dict[str, float]:
        s = self.settings
        generator = step_generator(self.seed, self.name, index)
        if not self.quantised and fraction >= s.unquantised:
            self._start_codebook(generator)
        images = self.draw(s.batch, generator).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            latents = self.vqvae.encode(images).latents  # (B, C, h, w)
        latents = latents.float()
        numbers = {}
        loss = torch.zeros((), device=self.device)
        if self.quantised:
            flat = latents.permute(0, 2, 3, 1).reshape(-1, s.code_dim)  # (B*h*w, C)
            picks = nearest(flat.detach(), self.codebook.codes)
            quantised = self.codebook.codes[picks].view(len(images), *latents.shape[2:], s.code_dim)  # (B, h, w, C)
            quantised = quantised.permute(0, 3, 1, 2)
            loss = loss + s.commitment * F.mse_loss(latents, quantised)
            latents = latents + (quantised - latents).detach()
            restart = fraction < s.restarts_until
            numbers["restarts"] = float(self.codebook.update(flat.detach(), picks, generator, restart=restart))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            output = self.vqvae.decode(latents, force_not_quantize=True).sample
        output = output.float()
        error = F.mse_loss(output, images)
        loss = loss + error + s.gradient_weight * _gradient_l1(output, images)
        self.optimizer.param_groups[0]["lr"] = s.lr * cosine_lr(fraction)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        return {"loss": loss.item(), "mse": error.item(), **numbers}

    def report(self) -> dict[str, float]:
        if not self.quantised:
            return {}
        self.vqvae.eval()
        tokens = encode_tokens(self.vqvae, self.held_out)
        truth = to_float(self.held_out).to(self.device)
        images = torch.cat([decode_tokens(self.vqvae, t) for t in torch.split(tokens, 256)])
        self.vqvae.train()
        usage = code_usage(tokens, self.settings.codes)
        return {
            "held_out_psnr": psnr(images, truth).mean().item(),
            "codes_used": float(usage["used"]),
            "code_perplexity": usage["perplexity"],
        }

    @torch.no_grad()
    def _start_codebook(self, generator: torch.Generator) -> None:
        latents = self.vqvae.encode(self.draw(_KMEANS_IMAGES, generator).to(self.device)).latents
        flat = latents.permute(0, 2, 3, 1).reshape(-1, self.settings.code_dim)
        points = flat[torch.randperm(len(flat), generator=generator)[:32768].to(flat.device)]
        self.codebook.start(kmeans(points, self.settings.codes, generator), points)
        self.quantised = True


def _gradient_l1(images: Tensor, truth: Tensor) -> Tensor:
    """Mean absolute error of horizontal and vertical differences: keeps edges that a squared error blurs."""
    error = images - truth
    return error.diff(dim=2).abs().mean() + error.diff(dim=3).abs().mean()
