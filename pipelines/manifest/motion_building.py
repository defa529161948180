"""Build a manifest of motions: clips with their truth, or drawn paths with prompts and none."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import PurePosixPath

import torch
from torch import Tensor

from operators import InputError, build_operator
from operators.signals.motion import SHORTEST, shape_problem
from operators.skeleton.clip_features import windows
from operators.skeleton.drawn_paths import (
    drawn_path,
    named_path,
    packaged_paths,
    packaged_prompts,
    path_names,
    path_text,
)
from operators.skeleton.joint_names import FEATURES
from pipelines.console.options import item_seed
from pipelines.console.progress import progress
from pipelines.manifest.building import Built, write_manifest
from pipelines.manifest.clip_sources import Clip, Clips, open_clips
from pipelines.manifest.manifest_record import Rejected
from pipelines.manifest.measuring import SourceRow
from pipelines.manifest.motion_build_settings import MotionSettings
from pipelines.manifest.prompts import PromptRule, prompt_rule
from pipelines.manifest.schema import row_id, safe_id
from pipelines.storage import StoreError, open_store

PACKAGED = "paths"
"""All paths that can be named, with all prompts of the package."""

_OF_CLIPS = ("split", "prompt_column", "prompt_template", "per_label", "fps", "cut")
_OF_DRAWN = ("prompts", "frames")
"""Settings that say nothing about the other kind of source."""

Drawn = tuple[Tensor, Tensor | None]
"""Places on the floor (F, 2) and heights (F,) in every frame."""


def build_motion_manifest(settings: MotionSettings, out: str, *, overwrite: bool = False) -> Built:
    """Measure every clip under every task, or every drawn path with every prompt, and write the manifest to `out`."""
    rejected: list[Rejected] = []
    settings.measured()
    if is_drawn(settings.source):
        _refuse(settings, _OF_CLIPS, "clips")
        rows, count = _drawn_rows(settings, rejected), 0
    else:
        clips = open_clips(settings)
        _refuse(settings, _OF_DRAWN, "drawn paths")
        rows, count = _clip_rows(settings, clips, rejected), min(clips.count, settings.limit or clips.count)
    asked = settings.model_dump(mode="json", exclude_defaults=True) | {"signal": "motion"}
    with progress(count, "clips") as bar:
        return write_manifest(
            out,
            _counted(rows, bar.update),
            overwrite=overwrite,
            rows_per_shard=settings.rows_per_shard,
            built=asked,
            rejected=rejected,
        )


def _refuse(settings: MotionSettings, names: Sequence[str], meant: str) -> None:
    """Raise an InputError where settings that say nothing about the source are not as they are by default."""
    fields = MotionSettings.model_fields
    if given := [name for name in names if getattr(settings, name) != fields[name].default]:
        raise InputError(f"{', '.join(given)}: meant for {meant}, and {settings.source} is none; leave it out.")


def is_drawn(source: str) -> bool:
    """Whether a source is a path that someone drew."""
    return source.lower().endswith(".csv") or source in (PACKAGED, *path_names())


def _counted(rows: Iterator[tuple[int, SourceRow]], advance: Callable[[int], object]) -> Iterator[SourceRow]:
    seen = 0
    for number, row in rows:
        advance(number - seen)
        seen = number
        yield row


def _clip_rows(settings: MotionSettings, clips: Clips, rejected: list[Rejected]) -> Iterator[tuple[int, SourceRow]]:
    rule: PromptRule = prompt_rule(settings, clips.columns)
    taken: Counter[str | None] = Counter()
    for number, clip in enumerate(islice(clips.clips, settings.limit), start=1):
        taken[clip.fields.get("label")] += 1
        if settings.per_label is not None and taken[clip.fields.get("label")] > settings.per_label:
            continue
        try:
            parts, prompt = _parts(clip, settings.cut), _prompt(rule, clip)
        except StoreError:
            raise
        except InputError as error:
            rejected.append(Rejected(source=clip.id or "-", tasks=list(settings.measured()), reason=str(error)))
            continue
        for name, features in parts.items():
            for row in _measured(settings, name, features, prompt, clip.fields.get("label")):
                yield number, row


def _parts(clip: Clip, cut: bool) -> dict[str, Tensor]:
    """The clip by its id, or its parts by theirs; an InputError where it is no motion."""
    features = clip.read()
    parts = windows(features, SHORTEST) if cut else {0: features}
    for part in parts.values():
        if problem := shape_problem(part.shape):
            remedy = "; --cut takes it in parts" if "too long" in problem else ""
            raise InputError(f"clip {clip.name}: {problem}{remedy}.")
    return {clip.id if len(parts) == 1 else f"{clip.id}@{first}": part for first, part in parts.items()}


def _prompt(rule: PromptRule, clip: Clip) -> str:
    try:
        return rule(clip.fields)
    except InputError as error:
        raise InputError(f"clip {clip.name}: {error}") from None


def _measured(
    settings: MotionSettings, name: str, truth: Tensor, prompt: str, label: str | None
) -> Iterator[SourceRow]:
    for task, (operator, params) in settings.measured().items():
        seed = item_seed(settings.seed, row_id(task, name))
        own = params if operator != "path" or "seed" in params else params | {"seed": seed}
        yield SourceRow(name, truth, operator, own, settings.sigma, seed, prompt, label, task=task)


def _drawn_rows(settings: MotionSettings, rejected: list[Rejected]) -> Iterator[tuple[int, SourceRow]]:
    """Every path with every prompt; y is the path itself at the key frames."""
    prompts = settings.prompts or ((settings.prompt,) if settings.prompt is not None else None)
    if prompts is None:
        prompts = tuple(packaged_prompts()) if settings.source == PACKAGED else ("",)
    for path, read in islice(_drawings(settings).items(), settings.limit):
        try:
            places, heights = read()
        except InputError as error:
            rejected.append(Rejected(source=path, tasks=list(settings.measured()), reason=str(error)))
            continue
        for number, prompt in enumerate(prompts):
            name = path if len(prompts) == 1 else f"{path}/{number:02d}"
            for task in settings.measured():
                yield 0, drawn_row(settings, task, name, (places, heights), prompt, path)


def drawn_row(
    settings: MotionSettings, task: str, name: str, drawn: Drawn, prompt: str, label: str | None = None
) -> SourceRow:
    """A measurement without truth: where a drawn path wants the joint to be at the key frames."""
    operator, params = settings.measured()[task]
    places, heights = drawn
    if operator != "path" or len(params.get("joints", ("pelvis",))) != 1:
        raise InputError(f"path: a drawn path is of one joint; {operator} with other settings measures more.")
    if settings.sigma:
        raise InputError(f"sigma: {settings.sigma:g} m is noise on positions of a clip, and a drawn path has none.")
    seed, shape = item_seed(settings.seed, row_id(task, name)), (len(places), FEATURES)
    own = {"seed": seed, "axes": "xz" if heights is None else "xyz"} | params
    built = build_operator(operator, own, x_shape=shape)
    if own["axes"] == "xz":
        points = places
    elif heights is None:
        raise InputError("axes: xyz asks for heights, and this path has none; leave it out, or give a CSV with y.")
    else:
        points = torch.stack([places[:, 0], heights, places[:, 1]], dim=-1)
    y = points[built.get_buffer("frames")[0]].unsqueeze(1).float()  # (K, 1, 2 or 3)
    return SourceRow(name, None, operator, own, settings.sigma, seed, prompt, label, task=task, y=y, x_shape=shape)


def _drawings(settings: MotionSettings) -> dict[str, Callable[[], Drawn]]:
    """Readers of the paths that a source means, by the ids of their rows."""
    source = settings.source
    names = path_names() if source == PACKAGED else [source]
    return {safe_id(PurePosixPath(name).name.removesuffix(".csv")): partial(read_drawing, name, settings.frames)
            for name in names}  # fmt: skip


def read_drawing(path: str, frames: int) -> Drawn:
    """A path by its name, or of a CSV file."""
    if not path.lower().endswith(".csv"):
        texts = packaged_paths()
        if path not in texts:
            return torch.from_numpy(named_path(path, frames)), None
        text = texts[path]
    else:
        folder, _, file = path.rpartition("/")
        store = open_store(folder or ("/" if path.startswith("/") else "."))
        if not store.exists(file):
            raise InputError(f"path: there is no file {path}.")
        text = path_text(store.read_bytes(file), path)
    places, heights = drawn_path(text, path, frames)
    return torch.from_numpy(places), None if heights is None else torch.from_numpy(heights)
