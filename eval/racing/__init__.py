"""Races: cells of a grid on the same measurements, of which those leave that are beaten beyond doubt."""

from eval.racing.elimination import Beaten, Departure, RaceRules, Standing, standing
from eval.racing.halving import halving_rounds
from eval.racing.margins import Margin, default_margin

__all__ = [
    "Beaten",
    "Departure",
    "Margin",
    "RaceRules",
    "Standing",
    "default_margin",
    "halving_rounds",
    "standing",
]
