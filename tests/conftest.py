"""Shared by all tests: tiny tensors run fastest on one thread, and stay fast on a busy machine."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
