"""From pictures to rows: decode, measure in batches, keep going past what cannot be used."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from operators import InputError, Operator, check_measurement, measure, stack_operators
from pipelines.images import decode_image, encode_png, to_picture
from pipelines.manifest.picture import Picture
from pipelines.manifest.prompts import PromptRule
from pipelines.manifest.schema import Row, canonical_json, id_problem, row_id, safe_id
from pipelines.manifest.settings import BuildSettings
from pipelines.manifest.summary import Rejected
from pipelines.options import item_seed
from pipelines.storage import StoreError

BATCH_SOURCES = 32
BATCH_BYTES = 16 * 2**20
"""A batch ends at this many sources, or bytes of pixels, whichever comes first."""


@dataclass(frozen=True)
class Truth:
    """A decoded picture for all tasks of its size."""

    source: str
    prompt: str
    label: str | None
    image: Tensor
    png: bytes


Member = dict[str, Truth]
"""One source, by task; a task that cannot use it is absent."""


class Measurer:
    """Turns pictures into rows; what it had to leave out is in `rejected`."""

    def __init__(self, settings: BuildSettings, prompt: PromptRule):
        self.settings, self.prompt = settings, prompt
        self.tasks = settings.degradations()
        self.rejected: list[Rejected] = []
        self._seen: set[str] = set()
        self._operator = lru_cache(maxsize=32)(self._build)

    def rows(self, pictures: Iterable[Picture]) -> Iterator[list[Row]]:
        """Rows in the order of the sources, and of the tasks for each; never more than a batch in memory."""
        batch: list[Member] = []
        shapes: object = None
        for picture in pictures:
            member = self._decode(picture)
            if not member:
                continue
            own = {task: truth.image.shape for task, truth in member.items()}
            if batch and (own != shapes or _full(batch)):
                yield self._measure(batch)
                batch = []
            shapes = own
            batch.append(member)
        if batch:
            yield self._measure(batch)

    def _decode(self, picture: Picture) -> Member:
        """The picture at the size of each task; reasons against it are kept."""
        source = picture.id
        try:
            self._check_id(source, picture.name)
            content, prompt = picture.read(), self._prompt(picture)
        except StoreError:
            raise
        except InputError as error:
            self._reject(source or safe_id(picture.name), list(self.tasks), str(error))
            return {}
        member: Member = {}
        for size, tasks in self._tasks_by_size().items():
            try:
                image = decode_image(
                    content,
                    picture.name,
                    None if size is None else (size, size),
                    resize=self.settings.resize,
                    background=self.settings.background,
                    grey=self.settings.grey,
                )
                for task in tasks:
                    self._operator(task, tuple(image.shape), 0)
            except InputError as error:
                self._reject(source, tasks, str(error))
                continue
            truth = Truth(source, prompt, picture.label, image, encode_png(to_picture(image)))
            member |= dict.fromkeys(tasks, truth)
        if member:
            self._seen.add(source)  # now and not before: one that cannot be used takes no other's id
        return {task: member[task] for task in self.tasks if task in member}

    def _measure(self, batch: list[Member]) -> list[Row]:
        """Rows of a batch whose pictures have the same shape for each task."""
        made = {task: self._measure_task(task, [member[task] for member in batch]) for task in batch[0]}
        return [made[task][position] for position in range(len(batch)) for task in made]

    def _measure_task(self, name: str, truths: list[Truth]) -> list[Row]:
        task = self.tasks[name]
        shape = tuple(truths[0].image.shape)
        seeds = [item_seed(self.settings.seed, row_id(name, truth.source)) for truth in truths]
        operators = [self._operator(name, shape, seed if task.own_seed else 0) for seed in seeds]
        operator = stack_operators(operators)
        y = measure(operator, torch.stack([truth.image for truth in truths]), sigma=task.sigma, seeds=seeds)
        check_measurement(operator, y)
        return [
            Row(
                source=truth.source,
                task=name,
                truth=truth.png,
                y=values.numpy(),
                image_shape=shape,
                operator=task.operator,
                operator_params=canonical_json(own.settings.model_dump(mode="json")),
                sigma=task.sigma,
                prompt=truth.prompt,
                label=truth.label,
                seed=seed,
            )
            for truth, values, seed, own in zip(truths, y, seeds, operators, strict=True)
        ]

    def _check_id(self, source: str, name: str) -> None:
        if not source:
            raise InputError(f"image {name}: its id is empty.")
        problem = next(filter(None, (id_problem(row_id(task, source)) for task in self.tasks)), None)
        if problem:
            raise InputError(f"image {name}: as an id, {problem}.")
        if source in self._seen:
            raise InputError(f"image {name}: its id {source!r} belongs to an earlier picture.")

    def _prompt(self, picture: Picture) -> str:
        try:
            return self.prompt(picture.fields)
        except InputError as error:
            raise InputError(f"image {picture.name}: {error}") from None

    def _tasks_by_size(self) -> dict[int | None, list[str]]:
        sizes: dict[int | None, list[str]] = {}
        for name, task in self.tasks.items():
            sizes.setdefault(task.image_size, []).append(name)
        return sizes

    def _build(self, task: str, shape: tuple[int, int, int], seed: int) -> Operator:
        return self.tasks[task].build(shape, seed)

    def _reject(self, source: str, tasks: list[str], reason: str) -> None:
        self.rejected.append(Rejected(source=source, tasks=tasks, reason=reason))


def _full(batch: list[Member]) -> bool:
    pixels = sum(truth.image.nbytes for member in batch for truth in member.values())
    return len(batch) >= BATCH_SOURCES or pixels >= BATCH_BYTES
