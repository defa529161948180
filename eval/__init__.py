"""How good a reconstruction is: metrics, statistics, regression gates and reports."""

from operators.torchvision_guard import ensure_torchvision_imports

ensure_torchvision_imports()
