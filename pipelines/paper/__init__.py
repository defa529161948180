"""The paper's experiments: specifications to run, and tables in the paper's shape."""

from pipelines.paper.experiments import Experiment, TableSpec, find_experiments
from pipelines.paper.paper_tables import PaperTable, Swept, build_table
from pipelines.paper.rendering import to_latex, to_markdown, to_record

__all__ = [
    "Experiment",
    "PaperTable",
    "Swept",
    "TableSpec",
    "build_table",
    "find_experiments",
    "to_latex",
    "to_markdown",
    "to_record",
]
