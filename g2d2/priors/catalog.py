"""The priors known by name: where each lives, its licence, size and shape. Imports no model library."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from operators.errors import InputError

EMBEDDED = Path(__file__).parent / "embedded"


class Home(StrEnum):
    """Where the files of a prior come from."""

    PACKAGED = "packaged"
    HUB = "hub"
    CONVERTED = "converted"


@dataclass(frozen=True)
class KnownFile:
    """What a file of a published prior must look like."""

    path: str
    size: int
    exact: bool = True
    """False: the source states the size to three digits only."""
    sha256: str | None = None
    """None where the source's page was not available to copy it from."""


@dataclass(frozen=True, kw_only=True)
class KnownPrior:
    """One line of `g2d2 prior list`."""

    name: str
    family: str
    """Of `g2d2.priors.families`, by name."""
    home: Home
    location: str
    """Folder inside the package, hub id, or the repository that publishes the checkpoint."""
    licence: str
    size: str
    image_size: int | None = None
    """Side of its images; None where it makes no images."""
    token_side: int | None = None
    """Of a prior over tokens, with `codes`."""
    codes: int | None = None
    latents: tuple[int, int] | None = None
    """Side and channels of a latent diffusion prior's latents."""
    motion: tuple[int, int] | None = None
    """Frames and tokens of the longest motion of a prior of motion, with `codes`."""
    notes: str
    citation: str
    revision: str | None = None
    files: tuple[KnownFile, ...] = ()
    digest: str | None = None
    digest_reason: str = ""
    """Why `digest` is None."""

    @property
    def shape(self) -> str:
        """Its images, and tokens or latents, in words; or its motions."""
        if self.motion is not None:
            frames, tokens = self.motion
            return f"up to {frames} frames, {tokens} tokens, {self.codes} codes"
        words = f"{self.image_size}x{self.image_size} pixels"
        if self.token_side is not None:
            words += f", {self.token_side}x{self.token_side} tokens, {self.codes} codes"
        if self.latents is not None:
            side, channels = self.latents
            words += f", {side}x{side} latents of {channels} channels"
        return words

    @property
    def signal(self) -> str:
        """What it makes."""
        return "image" if self.motion is None else "motion"

    @property
    def folder(self) -> Path | None:
        """The packaged folder, if it is there."""
        folder = EMBEDDED / self.location
        return folder if self.home is Home.PACKAGED and folder.is_dir() else None


_EMBEDDED_LICENCE = "Apache-2.0 (weights); CIFAR-10 is free for research with citation"
_CIFAR10 = "A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009"
_PER_FILE = "the hub publishes digests per file, not for the folder"

_PRIORS = (
    KnownPrior(
        name="cifar10",
        family="vq_diffusion",
        home=Home.PACKAGED,
        location="cifar10-vq",
        licence=_EMBEDDED_LICENCE,
        size="under 20 MB",
        image_size=32,
        token_side=8,
        codes=1024,
        notes="small VQ-Diffusion model of CIFAR-10, trained by `g2d2 prior train` on two CPU cores",
        citation=_CIFAR10,
        digest_reason="the packaged folder is part of this version; `g2d2 prior info cifar10` computes it",
    ),
    KnownPrior(
        name="cifar10-pixel",
        family="pixel_diffusion",
        home=Home.PACKAGED,
        location="cifar10-pixel",
        licence=_EMBEDDED_LICENCE,
        size="5.0 MB",
        image_size=32,
        notes="small DDPM of CIFAR-10, unconditional, 2.5 M parameters, trained by `g2d2 prior train` on a CPU core",
        citation=_CIFAR10,
        digest_reason="the packaged folder is part of this version; `g2d2 prior info cifar10-pixel` computes it",
    ),
    KnownPrior(
        name="cifar10-latent",
        family="latent_diffusion",
        home=Home.PACKAGED,
        location="cifar10-latent",
        licence=_EMBEDDED_LICENCE,
        size="11.1 MB",
        image_size=32,
        latents=(8, 16),
        notes="small latent diffusion of CIFAR-10 on the tokeniser of `cifar10`, unconditional, 4.7 M parameters, "
        "trained by `g2d2 prior train` on a CPU core",
        citation=_CIFAR10,
        digest_reason="the packaged folder is part of this version; `g2d2 prior info cifar10-latent` computes it",
    ),
    KnownPrior(
        name="cifar10-masked",
        family="masked_image",
        home=Home.PACKAGED,
        location="cifar10-masked",
        licence=_EMBEDDED_LICENCE,
        size="10.8 MB",
        image_size=32,
        token_side=8,
        codes=1024,
        notes="small masked generative model of CIFAR-10 in aMUSEd's layout, on the codes and decoder of `cifar10`, "
        "3.9 M parameters, trained by `g2d2 prior train` on a CPU core",
        citation=_CIFAR10,
        digest_reason="the packaged folder is part of this version; `g2d2 prior info cifar10-masked` computes it",
    ),
    KnownPrior(
        name="cmu-motion",
        family="masked_motion",
        home=Home.PACKAGED,
        location="cmu-motion",
        licence="Apache-2.0 (weights); the CMU database is free for research and commercial use",
        size="under 12 MB",
        motion=(196, 49),
        codes=512,
        notes="small masked motion model with text prompts, trained by `g2d2 prior train` on captured clips",
        citation="CMU Graphics Lab Motion Capture Database, mocap.cs.cmu.edu, funded by NSF EIA-0196217",
        digest_reason="the packaged folder is part of this version; `g2d2 prior info cmu-motion` computes it",
    ),
    KnownPrior(
        name="ithq",
        family="vq_diffusion",
        home=Home.HUB,
        location="microsoft/vq-diffusion-ithq",
        licence="MIT",
        size="6.0 GB",
        image_size=256,
        token_side=32,
        codes=4096,
        notes="the paper's prior: VQ-Diffusion trained on ITHQ, 36 layers of width 1408, 1.36 B parameters",
        citation="Tang et al., Improved Vector Quantized Diffusion Models, arXiv 2205.16007",
        revision="3f796fb49ee559370dc638dea1d8116af131d993",
        files=(
            KnownFile("vqvae/config.json", 606),
            KnownFile(
                "vqvae/diffusion_pytorch_model.bin",
                256_000_000,
                exact=False,
                sha256="c4a66f084d7c7d2041a9b330de89043974d09024e2d151d960a8c6e982c82d29",
            ),
            KnownFile("transformer/config.json", 399),
            KnownFile("transformer/diffusion_pytorch_model.bin", 5_440_000_000, exact=False),
            KnownFile("scheduler/scheduler_config.json", 251),
            KnownFile("text_encoder/config.json", 615),
            KnownFile("text_encoder/pytorch_model.bin", 253_000_000, exact=False),
            KnownFile("tokenizer/tokenizer_config.json", 956),
            KnownFile("tokenizer/special_tokens_map.json", 460),
            KnownFile("tokenizer/merges.txt", 525_000, exact=False),
            KnownFile("tokenizer/vocab.json", 1_060_000, exact=False),
            KnownFile("learned_classifier_free_sampling_embeddings/config.json", 160),
            KnownFile("learned_classifier_free_sampling_embeddings/diffusion_pytorch_model.bin", 159_000, exact=False),
        ),
        digest_reason=_PER_FILE,
    ),
    KnownPrior(
        name="cvqdiff-ffhq",
        family="vq_diffusion",
        home=Home.CONVERTED,
        location="INFINIQ-AI1/CLIPVQDiffusion",
        licence="CC-BY-NC-4.0 (non-commercial)",
        size="2.6 GB",
        image_size=256,
        token_side=16,
        codes=4096,
        notes="of the paper's ablation on FFHQ: CLIP-VQDiffusion, 24 layers of width 512, one CLIP text embedding; "
        "download clipvq_ffhq.pt, ffhq_vqgan_99epoch.ckpt and their YAML files there, then `g2d2 prior convert`",
        citation="Han and Kim, CLIP-VQDiffusion, arXiv 2403.14944",
        digest_reason="its publisher states none",
    ),
    KnownPrior(
        name="ddpm-cifar10",
        family="pixel_diffusion",
        home=Home.HUB,
        location="google/ddpm-cifar10-32",
        licence="Apache-2.0",
        size="143 MB",
        image_size=32,
        notes="the DDPM of CIFAR-10, unconditional, 36 M parameters",
        citation="Ho et al., Denoising Diffusion Probabilistic Models, arXiv 2006.11239",
        digest_reason=_PER_FILE,
    ),
    KnownPrior(
        name="ddpm-celebahq",
        family="pixel_diffusion",
        home=Home.HUB,
        location="google/ddpm-ema-celebahq-256",
        licence="Apache-2.0",
        size="455 MB",
        image_size=256,
        notes="a DDPM of faces, unconditional, averaged weights, 114 M parameters",
        citation="Ho et al., Denoising Diffusion Probabilistic Models, arXiv 2006.11239",
        digest_reason=_PER_FILE,
    ),
    KnownPrior(
        name="ldm-celebahq",
        family="latent_diffusion",
        home=Home.HUB,
        location="CompVis/ldm-celebahq-256",
        licence="Apache-2.0",
        size="1.3 GB",
        image_size=256,
        latents=(64, 3),
        notes="latent diffusion of faces on a VQ autoencoder, unconditional: LDM-VQ-4, as ReSample's",
        citation="Rombach et al., High-Resolution Image Synthesis with Latent Diffusion Models, arXiv 2112.10752",
        digest_reason=_PER_FILE,
    ),
    KnownPrior(
        name="sd15",
        family="latent_diffusion",
        home=Home.HUB,
        location="stable-diffusion-v1-5/stable-diffusion-v1-5",
        licence="CreativeML OpenRAIL-M (with restrictions of use)",
        size="4.3 GB",
        image_size=512,
        latents=(64, 4),
        notes="Stable Diffusion 1.5, as PSLD's: `sd15@256` makes its images 256x256 before they are measured",
        citation="Rombach et al., High-Resolution Image Synthesis with Latent Diffusion Models, arXiv 2112.10752",
        digest_reason=_PER_FILE,
    ),
    KnownPrior(
        name="amused-256",
        family="masked_image",
        home=Home.HUB,
        location="amused/amused-256",
        licence="OpenRAIL++ (with restrictions of use)",
        size="3.5 GB",
        image_size=256,
        token_side=16,
        codes=8192,
        notes="aMUSEd, a masked generative model told by texts: 604 M parameters over tokens, CLIP-L/14",
        citation="Patil et al., aMUSEd: An Open MUSE Reproduction, arXiv 2401.01808",
        digest_reason=_PER_FILE,
    ),
    KnownPrior(
        name="amused-512",
        family="masked_image",
        home=Home.HUB,
        location="amused/amused-512",
        licence="OpenRAIL++ (with restrictions of use)",
        size="3.5 GB",
        image_size=512,
        token_side=32,
        codes=8192,
        notes="aMUSEd trained further on larger images, its transformer between a down- and an upsampling",
        citation="Patil et al., aMUSEd: An Open MUSE Reproduction, arXiv 2401.01808",
        digest_reason=_PER_FILE,
    ),
)

CATALOG = {prior.name: prior for prior in _PRIORS}


def packaged_folder(prior: KnownPrior) -> Path:
    """The folder of a packaged prior, or one sentence on why it is not there."""
    if prior.folder is None:
        raise InputError(
            f"prior: {prior.name!r} is not installed: the package has no folder {EMBEDDED.name}/{prior.location}; "
            "train it with `g2d2 prior train`, or give another prior."
        )
    return prior.folder


def conversion_hint(prior: KnownPrior) -> str:
    """How to get a prior that is published in its authors' layout only."""
    return (
        f"prior: {prior.name!r} is published in its original layout only; get its files from {prior.location}, convert "
        "them with `g2d2 prior convert`, and give the folder that makes."
    )
