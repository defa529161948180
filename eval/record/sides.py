"""What a sweep compares: its arms, or the values of one setting, each held against a baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eval.cell_labels import in_order, setting_words
from eval.record.cell_result import CellResult


@dataclass(frozen=True)
class Sides:
    """Groups of cells by name; every other one is compared with the baseline."""

    names: tuple[str, ...]
    baseline: str
    setting: str | None = None
    """The setting whose values are compared; None where arms are."""

    by_arm: bool = False
    """Every arm has one value of the setting, so that cells of different arms can stand at one point."""

    def of(self, cell: CellResult) -> str | None:
        """The side of a cell; None where it has no such setting."""
        if self.setting is None:
            return cell.arm
        return side_name(self.setting, cell.parameters.get(self.setting))

    def point(self, cell: CellResult) -> tuple[Any, ...]:
        """Equal for cells that agree in every shown setting but the compared one."""
        arm = None if self.setting is None or self.by_arm else cell.arm
        return arm, *(value for name, value in cell.settings.items() if name != self.setting)


def default_baseline(arms: Sequence[str]) -> str:
    """What the others are held against where nobody says: the Markov ablation of G2D2, else the first."""
    return "markov" if set(arms) == {"star", "markov"} else arms[0]


def arms_in_order(cells: Sequence[CellResult], wanted: Sequence[str], compare: str | None) -> list[str]:
    """As asked for; others by name, the baseline last."""
    known = {cell.arm for cell in cells}
    rest = sorted(known - set(wanted))
    if rest and not wanted:
        baseline = compare if compare in rest else default_baseline(rest)
        rest.sort(key=lambda arm: arm == baseline)
    return [arm for arm in wanted if arm in known] + rest


def chosen_sides(cells: Sequence[CellResult], arms: Sequence[str], compare: str | None) -> Sides | None:
    """Arms against the one that `compare` names, or the values of the setting of that name; None where nothing is."""
    if compare is None:
        return Sides(tuple(arms), default_baseline(arms))
    if compare in arms:
        return Sides(tuple(arms), compare)
    values = in_order(cell.parameters.get(compare) for cell in cells)
    if not values:
        return None
    names = [side_name(compare, value) or "" for value in values]
    by_value = {arm: {cell.parameters.get(compare) for cell in cells if cell.arm == arm} for arm in arms}
    by_arm = all(len(distinct) == 1 for distinct in by_value.values())
    return Sides(tuple(names), default_baseline(names), compare, by_arm)


def side_name(setting: str, value: Any) -> str | None:
    """A word by itself, a number with the setting's name."""
    return value if value is None or isinstance(value, str) else setting_words(setting, value)
