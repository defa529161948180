"""The one record of a sweep: a scored table in; cells, labels, means, winners, contrasts and verdicts out."""

from eval.record.cell_result import Best, CellResult, best_of
from eval.record.contrasts import Contrast
from eval.record.headline import headline
from eval.record.sides import default_baseline
from eval.record.sweep_record import COSTS, SweepRecord

__all__ = ["COSTS", "Best", "CellResult", "Contrast", "SweepRecord", "best_of", "default_baseline", "headline"]
