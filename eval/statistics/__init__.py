"""How sure a mean is, and whether two settings differ: intervals, paired tests and their correction."""

from eval.statistics.bootstrap import Interval, bootstrap_interval, clustered_standard_error
from eval.statistics.multiplicity import corrected_together, holm
from eval.statistics.paired import PairedResult, paired
from eval.statistics.selection import SelectedContrast, halves, selected_contrast
from eval.statistics.sign_flip import sign_flip_p_value

__all__ = [
    "Interval",
    "PairedResult",
    "SelectedContrast",
    "bootstrap_interval",
    "clustered_standard_error",
    "corrected_together",
    "halves",
    "holm",
    "paired",
    "selected_contrast",
    "sign_flip_p_value",
]
