"""The course of a search: which batch of proposals races on which measurements, by what rules, and what it may cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from operators import InputError
from operators.plurals import counted
from pipelines.manifest import Manifest
from pipelines.plan.cells import expand_cells
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.grid import Grid, Point
from pipelines.plan.item_ids import fingerprint
from pipelines.plan.planning import planned_priors
from pipelines.plan.race_course import draw_order
from pipelines.plan.race_spec import REST, Race
from pipelines.plan.search_blocks import Block, cut_blocks
from pipelines.plan.selected_rows import select_places
from pipelines.plan.sweep_spec import SweepSpec


@dataclass(frozen=True)
class SearchCourse:
    """A search before any of its cells is known."""

    id: str
    """Of everything that decides what is proposed and how it is judged."""

    spec: SweepSpec
    race: Race
    sizes: list[int]
    """Proposals of each batch."""

    blocks: list[tuple[str, ...]]
    """Digests of the measurements of each batch, in the order of the race; what is set aside ends the last one."""

    aside: int

    def block(self, number: int) -> Block:
        return Block(self.id, number, frozenset(self.blocks[number]))

    def raced(self, number: int) -> int:
        """Measurements that a batch may be raced on."""
        last = number == len(self.blocks) - 1
        return len(self.blocks[number]) - (self.aside if last else 0)

    def batch_spec(self, number: int, points: Sequence[Point]) -> SweepSpec:
        """A batch as a race over points: its share of alpha, and the winner is confirmed where it is the last."""
        last = number == len(self.blocks) - 1
        confirm = (REST if self.race.confirm == REST else self.aside) if last else 0
        race = self.race.model_copy(update={"alpha": self.race.alpha / len(self.blocks), "confirm": confirm})
        return self.spec.model_copy(update={"grid": Grid(points=list(points)), "race": race})

    def cost(self) -> tuple[int, int]:
        """Fewest and most work items: all but one leave every batch after its first round, or nobody ever does."""
        low, high = 0, 0
        for number, so_far in enumerate(accumulate(self.sizes)):
            low += (self.sizes[number] + bool(number)) * self.race.round
            high += so_far * self.raced(number)
        rest = self.raced(len(self.sizes) - 1) - self.race.round if self.race.confirm == REST else self.aside
        seeds = len(self.spec.seeds)
        return seeds * (low + rest), seeds * (high + self.aside)


def search_course(spec: SweepSpec) -> SearchCourse:
    """Of a specification whose grid is a search; refused where it has several tasks or too few measurements."""
    manifest, grid, race = Manifest.open(spec.manifest), spec.grid, spec.race
    assert race is not None
    places = select_places(spec, manifest)
    tasks = sorted(set(places["task"].to_pylist()))
    if len(tasks) > 1:
        raise InputError(f"select.tasks: a search has one task, and there are {', '.join(tasks)}; name one of them.")
    # extremes of every setting: a method refuses them here and not in the middle of the search
    probe = spec.model_copy(update={"grid": Grid(points=_extremes(grid))})
    cells = expand_cells(probe, tasks, planned_priors(spec))
    order = draw_order(places["digest"].to_pylist(), race.seed)
    aside = race.set_aside(len(order))
    pool, sizes = len(order) - aside, grid.batches
    if pool // len(sizes) < race.round:
        raise InputError(
            f"grid.trials: {grid.trials} in batches of {sizes[0]} take {len(sizes)} x {race.round} measurements, a "
            f"round of the race each, and {counted(max(pool, 0), 'measurement')} may be raced on; give fewer trials, "
            "larger batches, shorter rounds or more measurements."
        )
    id = fingerprint(
        "search", manifest.digest, [cell.recipe for cell in cells], spec.seeds, spec.select.model_dump(),
        race.model_dump(mode="json"), race.raced(chosen_metrics(spec, manifest)),
        grid.model_dump(mode="json", include={"search", "trials"}), sizes,
    )  # fmt: skip
    return SearchCourse(id, spec, race, sizes, cut_blocks(order, pool, len(sizes)), aside)


def _extremes(grid: Grid) -> list[Point]:
    """Points that have every choice and both ends of every range between them."""
    axes = {name: axis if isinstance(axis, list) else list(axis.ends) for name, axis in grid.search.items()}
    most = max(map(len, axes.values()))
    return [{name: values[place % len(values)] for name, values in axes.items()} for place in range(most)]
