"""Folders of pipelines as diffusers saves them: one per component, with its files. Imports no model library."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from g2d2.priors import component_files
from g2d2.priors.clip_prompts import require_tokenizer
from g2d2.priors.component_files import Stems
from g2d2.priors.json_files import read_json
from g2d2.priors.tensor_shapes import component_shapes
from operators.errors import InputError

Sides = tuple[int | None, ...]
"""Of a tensor along its first axes; None: any."""


@dataclass(frozen=True)
class PipelineFolder:
    """Which components a kind of pipeline has; a tokenizer is one of them."""

    configs: Mapping[str, str]
    """The configuration each component cannot do without."""
    weights: Mapping[str, Stems]
    """Components with weights, and what these are called."""

    def require_folders(self, folder: Path) -> None:
        """Refuse a folder that lacks that of a component."""
        for name in self.configs:
            if not (folder / name).is_dir():
                raise InputError(
                    f"prior: {str(folder)!r} has no folder {name!r}; it must hold {', '.join(self.configs)}."
                )

    def require_files(self, folder: Path) -> None:
        """Refuse a folder that lacks a file; none is opened but indices of weights in parts."""
        self.require_folders(folder)
        for name, file in self.configs.items():
            if not (folder / name / file).is_file():
                raise InputError(f"prior: component {name!r} is incomplete: {folder / name / file} is missing.")
        require_tokenizer(folder)
        for name, stems in self.weights.items():
            component_files.require_weights(folder / name, stems, name)

    def weight_files(self, folder: Path, component: str) -> list[Path]:
        """The files whose tensors are loaded; none for a component without weights."""
        stems = self.weights.get(component)
        return [] if stems is None else component_files.weight_files(folder / component, stems)

    def loaded_files(self, folder: Path) -> list[Path]:
        """All that decides what the prior computes: no README, no other precision."""
        return [
            path
            for name in self.configs
            for path in component_files.config_files(folder / name) + self.weight_files(folder, name)
        ]

    def pickled(self, folder: Path) -> bool:
        """Whether weights would have to be read whole to be checked, as safetensors need not."""
        return any(path.suffix == ".bin" for name in self.weights for path in self.weight_files(folder, name))

    def other_weights(self, folder: Path) -> list[str]:
        """Patterns of plain pickled tensors, for the components that have no safetensors."""
        return [
            f"{name}/*.bin*"
            for name, stems in self.weights.items()
            if not component_files.has_safetensors(folder / name, stems)
        ]

    def read_configs(self, folder: Path) -> dict[str, dict[str, Any]]:
        """The main configuration of every component."""
        return {name: read_json(folder / name / file) for name, file in self.configs.items()}

    def check_tensors(self, folder: Path, expected: Mapping[tuple[str, str], Sides]) -> None:
        """Refuse weights that are damaged, or tensors (component, name) that are missing or of other sides."""
        tensors = {name: component_shapes(folder / name, stems) for name, stems in self.weights.items()}
        for (component, name), wanted in expected.items():
            present = tensors[component].get(name)
            fits = present is not None and all(
                side is None or side == have for side, have in zip(wanted, present, strict=False)
            )
            if not fits:
                sides = "x".join("?" if side is None else str(side) for side in wanted)
                have = "missing" if present is None else "x".join(map(str, present))
                path = self.weight_files(folder, component)[0]
                raise InputError(f"prior: {path}: {name} is {have} and must be {sides}.")
