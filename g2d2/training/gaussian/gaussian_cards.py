"""Model cards of the continuous priors, from their recipes, numbers and curves."""

from typing import Any

from g2d2.training.gaussian.latent_recipe import LatentRecipe
from g2d2.training.gaussian.pixel_recipe import PixelRecipe
from g2d2.training.gaussian.unet_settings import UNetSettings
from g2d2.training.gaussian.vp_noise import TIMESTEPS
from g2d2.training.heldout import ATTRIBUTION
from g2d2.training.loop import History
from g2d2.training.reporting import training_line

_DATA = f"CIFAR-10 training split with mirror images; {ATTRIBUTION.split('; ')[1]}"

_PIXEL = """# CIFAR-10 pixel diffusion prior

A small unconditional DDPM of 32x32 photographs, in diffusers' own folder layout: `DDPMPipeline.from_pretrained`
loads it and generates.

| | |
|---|---|
| data | {data} |
| prior | `UNet2DModel`, channels {channels}, attention at {attention}, {parameters:,} parameters |
| noise process | `DDPMScheduler`, T = {timesteps}, linear beta 1e-4 to 0.02, {prediction} |
| training | {training} |
| size | {megabytes:.1f} MB of float16 safetensors and configuration |

## Held-out numbers

The test split was never trained on. PSNR in dB of the estimate of x_0 from x_0 + sigma n, images in [-1, 1], in one
call at the timestep whose noise, relative to the signal, is sigma; estimates are clipped to the range. Over {images}
images, balanced over classes:

| sigma | noisy | prior |
|---|---|---|
{denoising}

Over the first {compared} of them, beside denoisers without a network{note}:

{comparison}

{verdict}

## Limits

It is a demonstration and test prior for CIFAR-10 at 32x32 and nothing beyond. What it knows is what the
tables say; look at its samples before relying on it for more than colours, edges and textures.
"""

_LATENT = """# CIFAR-10 latent diffusion prior

A small unconditional diffusion model of the latents of a VQ tokeniser before quantisation, in the folder layout of
diffusers' `LDMPipeline`; every component loads with its own class and `subfolder=`.

| | |
|---|---|
| data | {data} |
| tokeniser | `VQModel` of the CIFAR-10 VQ-Diffusion prior, unchanged, {vqvae_parameters:,} parameters, float32 |
| latents | {shape}, times the scaling factor {scale} of the tokeniser's configuration: unit variance |
| prior | `UNet2DModel`, channels {channels}, attention at {attention}, {parameters:,} parameters, float16 |
| noise process | `DDIMScheduler`, T = {timesteps}, linear beta 1e-4 to 0.02, v prediction |
| training | {training} |
| size | {megabytes:.1f} MB of safetensors and configuration |

## Held-out numbers

Over {images} images of the test split, balanced over classes; the test split was never trained on.

| reconstruction of the truth | PSNR | {lpips_head}
|---|---|{lpips_rule}
{reconstruction}

Estimates of the scaled latents z from z + sigma n in one call at the timestep whose noise, relative to the signal, is
sigma: signal over error of the latents, and PSNR of the decoded estimates (without quantisation). `normal` is the best
linear estimate, that of a normal distribution with the mean and covariance of the training latents.

| sigma | latents: noisy | normal | prior | decoded: noisy | normal | prior |
|---|---|---|---|---|---|---|
{denoising}

## Limits

It is a demonstration and test prior for CIFAR-10 at 32x32 and nothing beyond, and cannot be sharper than its tokeniser.
"""

_COLUMNS = {"noisy": "noisy", "prior": "prior", "tv": "total variation", "bm3d": "BM3D"}


def pixel_card(recipe: PixelRecipe, numbers: dict[str, Any], curve: History, prediction: str) -> str:
    """The pixel prior's card as Markdown."""
    compared = numbers["compared_psnr"]
    present = [name for name in _COLUMNS if name in next(iter(compared.values()))]
    head = [f"| sigma | {' | '.join(_COLUMNS[name] for name in present)} |", "|---" * (len(present) + 1) + "|"]
    rows = [_row(sigma, [scores[name] for name in present]) for sigma, scores in compared.items()]
    notes = {"tv": "total variation at the weight that is best for each image", "bm3d": "BM3D told the noise level"}
    told = [text for name, text in notes.items() if name in present]
    return _PIXEL.format(
        data=_DATA,
        channels=recipe.unet.channels,
        attention=_resolutions(recipe.unet, 32),
        parameters=numbers["parameters"]["unet"],
        timesteps=TIMESTEPS,
        prediction=prediction.replace("_", " "),
        training=training_line(curve, recipe.unet.batch),
        megabytes=numbers["megabytes"],
        images=numbers["images"],
        denoising="\n".join(_row(s, [x["noisy"], x["prior"]]) for s, x in numbers["denoising_psnr"].items()),
        compared=numbers["compared_images"],
        note=f" ({'; '.join(told)})" if told else "",
        comparison="\n".join([*head, *rows]),
        verdict=where_behind(compared, [name for name in notes if name in present]),
    )


def where_behind(compared: dict[str, dict[str, float]], others: list[str]) -> str:
    """Where the prior is not above denoisers without a network, or that it is above them everywhere."""
    if not others:
        return "No other denoiser was installed when this was measured."
    behind = []
    for name in others:
        gaps = {sigma: scores[name] - scores["prior"] for sigma, scores in compared.items()}
        short = [f"{gap:.2f} dB at {sigma}" for sigma, gap in gaps.items() if gap >= 0]
        behind += [f"{_COLUMNS[name]} by {', '.join(short)}"] if short else []
    if not behind:
        return "The prior is above each of them at every noise level."
    return f"The prior is below {'; below '.join(behind)}."


def latent_card(recipe: LatentRecipe, numbers: dict[str, Any], curve: History) -> str:
    """The latent prior's card as Markdown."""
    columns = [f"{name}_{unit}" for unit in ("snr", "psnr") for name in ("noisy", "normal", "prior")]
    scores = numbers["reconstruction"]
    lpips = "lpips" in scores["latents"]
    labels = {"latents": "from latents", "quantised": "from the nearest codes"}
    reconstruction = [
        f"| {labels[name]} | {pair['psnr']:.2f} dB |" + (f" {pair['lpips']:.3f} |" if lpips else "")
        for name, pair in scores.items()
    ]
    return _LATENT.format(
        data=_DATA,
        vqvae_parameters=numbers["parameters"]["vqvae"],
        shape="x".join(str(size) for size in numbers["latent_shape"]),
        scale=numbers["scaling_factor"],
        channels=recipe.unet.channels,
        attention=_resolutions(recipe.unet, numbers["latent_shape"][-1]),
        parameters=numbers["parameters"]["unet"],
        timesteps=TIMESTEPS,
        training=training_line(curve, recipe.unet.batch),
        megabytes=numbers["megabytes"],
        images=numbers["images"],
        lpips_head="LPIPS (VGG) |" if lpips else "",
        lpips_rule="---|" if lpips else "",
        reconstruction="\n".join(reconstruction),
        denoising="\n".join(_row(s, [x[name] for name in columns]) for s, x in numbers["denoising"].items()),
    )


def _row(sigma: str, values: list[float]) -> str:
    return f"| {sigma} | {' | '.join(f'{value:.2f}' for value in values)} |"


def _resolutions(settings: UNetSettings, side: int) -> str:
    """The resolutions that have attention, in words."""
    levels = range(len(settings.channels) - settings.attention_levels, len(settings.channels))
    return " and ".join(f"{side >> level}x{side >> level}" for level in levels) or "the middle alone"
