"""Scored tables of plain numbers: two arms over a grid, and four arms of different methods."""

import numpy as np
import pyarrow as pa

from eval.scores import score_schema

TASKS = ("sr4-32", "blur & <b>more</b>")


def score_table(images=12, processes=("star", "markov"), etas=(0.001, 0.01, 0.1), gammas=(0.1, 1.0), lift=1.0):
    """Star is better by `lift` dB; eta_kl 0.01 and gamma 0.1 are the best."""
    random = np.random.default_rng(0)
    kinds = {"task": pa.string(), "process": pa.string(), "eta_kl": pa.float64(), "gamma": pa.float64()}
    rows = []
    for task in TASKS:
        base = random.normal(20, 2, images)
        for process in processes:
            for eta in etas:
                for gamma in gammas:
                    cell = f"{task[:3]}-{process}-{eta}-{gamma}"
                    quality = lift * (process == "star") - abs(np.log10(eta) + 2) - gamma
                    psnr = base + quality + random.normal(0, 0.1, images)
                    for i in range(images):
                        rows.append(
                            {"item": f"{cell}-{i}", "measurement": f"m{i:03d}", "measurement_digest": f"d{i}",
                             "cell": cell, "seed": 0, "error": None, "task": task, "process": process, "eta_kl": eta,
                             "gamma": gamma, "psnr": psnr[i], "lpips_vgg": 1 - psnr[i] / 40, "residual": 1 + gamma,
                             "seconds": 1 + eta}
                        )  # fmt: skip
    names = ["psnr", "lpips_vgg", "residual", "seconds"]
    return pa.Table.from_pylist(rows, schema=score_schema(names, kinds))


ARMS = {
    "star": ("g2d2", "cifar10-vq", 2.0), "markov": ("g2d2", "cifar10-vq", 1.0), "wiener": ("wiener", None, -3.0),
    "bicubic": ("bicubic", None, -6.0),
}  # fmt: skip
"""Method, prior and gain in dB by arm."""


def four_arms(images=12, tasks=("sr4-32", "gaussian-deblur-32")):
    """Two arms with a grid of eta_kl, one with a strength of its own, one without any setting."""
    kinds = {
        "task": pa.string(), "arm": pa.string(), "method": pa.string(), "prior": pa.string(), "process": pa.string(),
        "eta_kl": pa.float64(), "steps": pa.int64(), "noise": pa.float64(),
    }  # fmt: skip
    random, rows = np.random.default_rng(0), []
    for task in tasks:
        base = random.normal(22, 2, images)
        for arm, (method, prior, gain) in ARMS.items():
            for point in _points(arm):
                cell = f"{task}-{arm}-{point.get('eta_kl') or point.get('noise') or 0}"
                psnr = base + gain - 10 * abs((point.get("eta_kl") or 0.01) - 0.01) + random.normal(0, 0.1, images)
                rows += [
                    {"item": f"{cell}-{i}", "measurement": f"m{i:03d}", "measurement_digest": f"d{i}", "cell": cell,
                     "seed": 0, "error": None, "task": task, "arm": arm, "method": method, "prior": prior, **point,
                     "psnr": psnr[i], "lpips_vgg": 1 - psnr[i] / 40, "residual": 1.0, "seconds": 2.0}
                    for i in range(images)
                ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=score_schema(["psnr", "lpips_vgg", "residual", "seconds"], kinds))


def _points(arm):
    if arm in ("star", "markov"):
        return [{"process": arm, "eta_kl": eta, "steps": 25 if arm == "star" else 50} for eta in (0.001, 0.01, 0.1)]
    return [{"noise": noise} for noise in (0.05, 0.1)] if arm == "wiener" else [{}]
