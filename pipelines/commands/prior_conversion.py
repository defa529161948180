"""`g2d2 prior convert`: checkpoints as their authors publish them, to folders that every command takes as a prior."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from g2d2.priors.locating import locate_prior
from operators.errors import InputError

EXAMPLE = "g2d2 prior convert --family pixel_diffusion ffhq_10m.pt --out priors/adm-ffhq"

_SCHEDULES = {"linear": "linear", "cosine": "squaredcos_cap_v2"}
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "vq_diffusion": {
        "config": None,
        "vqvae": None,
        "vqvae_config": None,
        "text_encoder": "openai/clip-vit-base-patch32",
        "weights": "ema",
    },
    "pixel_diffusion": {"size": 256, "head_width": 64, "qkv": "interleaved", "betas": "linear"},
    "masked_motion": {"vqvae": None, "mean": None, "std": None, "text_encoder": "openai/clip-vit-base-patch32"},
}
"""By family, the options it has, and their defaults."""
_REQUIRED = {
    "vq_diffusion": ("config", "vqvae_config"),
    "pixel_diffusion": (),
    "masked_motion": ("vqvae", "mean", "std"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    def default(name: str) -> str:
        return next(str(options[name]) for options in _OPTIONS.values() if name in options)

    parser.add_argument("checkpoint", type=Path, help="the diffusion model's .pth or .pt file")
    parser.add_argument(
        "--family",
        default="vq_diffusion",
        choices=list(_OPTIONS),
        help="vq_diffusion: VQ-Diffusion and CLIP-VQDiffusion (default); pixel_diffusion: ADM (guided-diffusion); "
        "masked_motion: MMM",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the new folder")
    vq = parser.add_argument_group("vq_diffusion, and masked_motion where it says so")
    vq.add_argument("--config", type=Path, metavar="YAML", help="its configuration")
    vq.add_argument(
        "--vqvae",
        type=Path,
        metavar="CKPT",
        help="the VQGAN's file (default: inside the checkpoint); masked_motion: the VQ-VAE's",
    )
    vq.add_argument("--vqvae-config", type=Path, metavar="YAML", help="the VQGAN's configuration")
    vq.add_argument(
        "--text-encoder",
        metavar="FOLDER_OR_ID",
        help=f"the CLIP model it was trained with, masked_motion's too (default: {default('text_encoder')})",
    )
    vq.add_argument("--weights", choices=["ema", "model"], help="averaged or last (default: ema)")
    pixel = parser.add_argument_group("pixel_diffusion", "what the tensors do not say")
    pixel.add_argument("--size", type=int, help=f"side of its images (default: {default('size')})")
    pixel.add_argument(
        "--head-width", type=int, help=f"channels of an attention head (default: {default('head_width')})"
    )
    pixel.add_argument(
        "--qkv",
        choices=["interleaved", "separate"],
        help="order of q, k and v: head by head (default), or each whole (use_new_attention_order)",
    )
    pixel.add_argument("--betas", choices=list(_SCHEDULES), help=f"noise schedule (default: {default('betas')})")
    motion = parser.add_argument_group("masked_motion", "the normalisation it was trained with: the evaluator's")
    motion.add_argument("--mean", type=Path, metavar="NPY", help="mean of the 263 features")
    motion.add_argument("--std", type=Path, metavar="NPY", help="their standard deviation")


def run(args: argparse.Namespace) -> int:
    options = _options(args)
    if args.family == "pixel_diffusion":
        from g2d2.priors.pixel_diffusion.adm_conversion import AdmSource, convert_adm

        schedule = _SCHEDULES[options["betas"]]
        source = AdmSource(args.checkpoint, options["size"], options["head_width"], options["qkv"], schedule)  # type: ignore[arg-type]
        folder = convert_adm(source, args.out)
    elif args.family == "masked_motion":
        from g2d2.priors.masked_motion.mmm_conversion import MmmSources, convert_mmm

        folder = convert_mmm(MmmSources(args.checkpoint, **options), args.out)
    else:
        from g2d2.priors.vq_diffusion.conversion import Sources, convert

        folder = convert(Sources(args.checkpoint, **options), args.out)
    located = locate_prior(folder)
    print(f"{folder}: {located.check()}\ndigest {located.digest()}")
    return 0


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """The family's own options; one of another family is refused."""
    given = {name: getattr(args, name) for options in _OPTIONS.values() for name in options}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given.keys() - _OPTIONS[args.family].keys():
        raise InputError(f"{_flag(name)} does not go with --family {args.family}; leave it out.")
    for name in _REQUIRED[args.family]:
        if name not in given:
            raise InputError(f"{_flag(name)} is missing, which --family {args.family} needs.")
    return {**_OPTIONS[args.family], **given}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
