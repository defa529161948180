"""The numbers the paper prints, to hold one's own against."""

from eval.paper.published import CITATION, PaperResult, paper_results

__all__ = ["CITATION", "PaperResult", "paper_results"]
