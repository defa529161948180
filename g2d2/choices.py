"""Words that settings may have, where more than one module reads them."""

from typing import Literal

Compile = bool | Literal["graphs"]
"""Of the networks behind a prior: not at all, compiled, or compiled into CUDA graphs."""
OptimizerName = Literal["radam", "adam"]
BetaDenominator = Literal["K", "K+1"]
Precision = Literal["float32", "float16", "bfloat16", "float64"]
"""Of the networks behind a prior, by torch's names."""
Process = Literal["star", "markov"]
Relaxation = Literal["gumbel", "gumbel-st", "expectation", "quantized-expectation"]
Remasking = Literal["independent", "exact-count", "posterior-confidence"]
TokenSpacing = Literal["even", "one-level"]
