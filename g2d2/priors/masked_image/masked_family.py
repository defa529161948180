"""The family of masked image models in the folder layout of aMUSEd. Imports no model library."""

from pathlib import Path
from typing import Any, Unpack

from g2d2.priors.base import Discrete, PriorFacts
from g2d2.priors.clip_prompts import TokenCounter
from g2d2.priors.component_files import written_by
from g2d2.priors.families import NetworkForm
from g2d2.priors.masked_image.masked_layout import COMPONENTS, LAYOUT, check_folder, read_shape
from g2d2.priors.pipeline_family import PipelineFamily
from g2d2.schedule import NOMINAL_STEPS

_PIPELINES = ("AmusedPipeline", "AmusedImg2ImgPipeline", "AmusedInpaintPipeline")
"""They are made of the same parts."""


class MaskedImage(PipelineFamily):
    """A text encoder, a transformer that fills in masked tokens, and the VQGAN that decodes them."""

    name = "masked_image"
    kind = Discrete
    layout = LAYOUT
    looks_for = f"an AmusedPipeline as diffusers saves it, with folders {', '.join(COMPONENTS)}"
    hub_patterns = (
        "model_index.json",
        *(f"{name}/*.{ending}" for name in COMPONENTS for ending in ("json", "txt", "safetensors")),
    )

    def recognises(self, folder: Path) -> bool:
        """By any of three signs, so that of a damaged folder the part that is missing can be named."""
        return (
            written_by(folder / "model_index.json") in _PIPELINES
            or written_by(folder / "scheduler" / "scheduler_config.json") == "AmusedScheduler"
            or written_by(folder / "transformer" / "config.json") == "UVit2DModel"
        )

    def check_files(self, folder: Path) -> None:
        check_folder(folder)

    def describe(self, folder: Path) -> dict[str, str]:
        LAYOUT.require_files(folder)
        shape = read_shape(folder)
        return {"shape": str(shape), "transformer": shape.words()}

    def facts(self, folder: Path) -> PriorFacts:
        LAYOUT.require_files(folder)
        shape = read_shape(folder) if LAYOUT.pickled(folder) else check_folder(folder)
        count = TokenCounter(folder, _load_component)
        return PriorFacts(Discrete, "image", shape.x_shape, NOMINAL_STEPS, count.limit, count, guided="prompted rows")

    def load(self, folder: Path, **form: Unpack[NetworkForm]) -> Discrete:
        from g2d2.priors.masked_image.masked_components import load_masked_parts  # model libraries
        from g2d2.priors.masked_image.masked_prior import MaskedImagePrior

        return MaskedImagePrior(load_masked_parts(folder), **form)


def _load_component(folder: Path, name: str) -> Any:
    from g2d2.priors.masked_image.masked_components import load_masked_part  # model libraries

    return load_masked_part(folder, name)
