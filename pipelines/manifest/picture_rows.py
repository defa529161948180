"""From pictures to what is measured of them: each decoded at the size of every task, reasons against it kept."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from torch import Tensor

from operators import InputError, Operator
from operators.pictures import decode_image
from pipelines.console.options import item_seed
from pipelines.manifest.manifest_record import Rejected
from pipelines.manifest.measuring import SourceRow
from pipelines.manifest.picture import Picture
from pipelines.manifest.prompts import PromptRule
from pipelines.manifest.schema import id_problem, row_id, safe_id
from pipelines.manifest.settings import BuildSettings
from pipelines.storage import StoreError


class PictureRows:
    """Every picture under every task; those that could not be used are in `rejected`."""

    def __init__(self, settings: BuildSettings, prompt: PromptRule, rejected: list[Rejected]):
        self.settings, self.prompt, self.rejected = settings, prompt, rejected
        self.tasks = settings.degradations()
        self._seen: set[str] = set()
        self._operator = lru_cache(maxsize=32)(self._build)

    def __call__(self, pictures: Iterable[Picture]) -> Iterator[SourceRow]:
        """In the order of the pictures, and of the tasks for each."""
        for picture in pictures:
            content = self._read(picture)
            if content is None:
                continue
            decoded, prompt = self._decode(picture, content), self._prompt(picture)
            if decoded:
                self._seen.add(picture.id)  # now and not before: one that cannot be used takes no other's id
            for task in self.tasks:
                if task in decoded:
                    yield self._row(picture, task, decoded[task], prompt)

    def _read(self, picture: Picture) -> bytes | None:
        """The picture's file; None where it has none, or neither name nor prompt."""
        try:
            self._check_id(picture.id, picture.name)
            content = picture.read()
            self._prompt(picture)
        except StoreError:
            raise
        except InputError as error:
            self._reject(picture.id or safe_id(picture.name), list(self.tasks), str(error))
            return None
        return content

    def _row(self, picture: Picture, task: str, image: Tensor, prompt: str) -> SourceRow:
        degradation, seed = self.tasks[task], item_seed(self.settings.seed, row_id(task, picture.id))
        return SourceRow(
            id=picture.id,
            truth=image,
            operator=degradation.operator,
            params=degradation.params | ({"seed": seed} if degradation.own_seed else {}),
            sigma=degradation.sigma,
            seed=seed,
            prompt=prompt,
            label=picture.label,
            task=task,
        )

    def _decode(self, picture: Picture, content: bytes) -> dict[str, Tensor]:
        """The picture at the size of each task; a task that cannot use it is absent."""
        decoded: dict[str, Tensor] = {}
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
                    self._operator(task, tuple(image.shape))
            except InputError as error:
                self._reject(picture.id, tasks, str(error))
                continue
            decoded |= dict.fromkeys(tasks, image)
        return decoded

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

    def _build(self, task: str, shape: tuple[int, int, int]) -> Operator:
        return self.tasks[task].build(shape)

    def _reject(self, source: str, tasks: list[str], reason: str) -> None:
        self.rejected.append(Rejected(source=source, tasks=tasks, reason=reason))
