"""How sure a mean is, and whether two settings differ: intervals, paired tests and their correction."""

from eval.statistics.bootstrap import Interval, bootstrap_interval, clustered_standard_error
from eval.statistics.grid import compare_grid, corrected_together
from eval.statistics.multiplicity import holm
from eval.statistics.paired import PairedResult, paired
from eval.statistics.sign_flip import sign_flip_p_value

__all__ = [
    "Interval",
    "PairedResult",
    "bootstrap_interval",
    "clustered_standard_error",
    "compare_grid",
    "corrected_together",
    "holm",
    "paired",
    "sign_flip_p_value",
]
