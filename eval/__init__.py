"""How good a reconstruction is: metrics, statistics, regression gates and reports."""

from operators.torchvision_guard import guard_torchvision

guard_torchvision()
