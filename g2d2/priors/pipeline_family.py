"""Families whose folders are pipelines as diffusers saves them. Imports no model library."""

from pathlib import Path
from typing import ClassVar

from g2d2.priors.families import Family
from g2d2.priors.pipeline_folders import PipelineFolder


class PipelineFamily(Family):
    """What follows from the layout of the folder alone."""

    layout: ClassVar[PipelineFolder]

    def files(self, folder: Path) -> list[Path]:
        self.layout.require_folders(folder)
        return self.layout.loaded_files(folder)

    def other_weights(self, folder: Path) -> list[str]:
        """Plain pickled tensors of the components that have no safetensors."""
        return self.layout.other_weights(folder)

    def require_files(self, folder: Path) -> None:
        self.layout.require_files(folder)
