"""Quality over decoder calls of a finished `judge.yaml`: a picture, and the page's tables on the terminal.

g2d2 sweep examples/cifar10/presets/judge.yaml
python examples/cifar10/presets/curve.py out/cifar10/presets/judge docs/figures/speed-curve.png

Finished sweeps of the loop as published may follow. They have few of these photographs, so that the loop stands where
the protocol does plus its paired difference from it on those.
"""

import sys

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eval.statistics import Interval
from g2d2.methods import find_method
from pipelines import Sweep

TASKS = {"gaussian-deblur-32": "deblurring", "sr4-32": "4x super-resolution"}
METRICS = {"lpips_vgg": "LPIPS (lower is better)", "psnr": "PSNR, dB"}
COLORS = {"star": "C0", "markov": "C1"}
BASELINE, PUBLISHED = "protocol", "published"


def main(folder: str, out: str, *published: str) -> None:
    sweep, beside = Sweep.open(folder), [Sweep.open(one) for one in published]
    calls = {cell.id: decoder_calls(cell.method, cell.settings) for cell in sweep.stored.plan.cells}
    process = {cell.id: cell.settings["process"] for cell in sweep.stored.plan.cells}
    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(len(METRICS), len(TASKS), sharex=True)
    for column, (task, title) in enumerate(TASKS.items()):
        cells = [cell for cell in sweep.record.cells if cell.task == task]
        for row, (metric, words) in enumerate(METRICS.items()):
            axis = axes[row][column]
            for cell in cells:
                mean = cell.means[metric]
                ends = [[mean.mean - mean.low], [mean.high - mean.mean]]
                axis.errorbar(calls[cell.id], mean.mean, ends, fmt="o", color=COLORS[process[cell.id]], capsize=3)
                near = [one for one in cells if (calls[one.id], process[one.id]) == (calls[cell.id], process[cell.id])]
                lower = sum(one.means[metric].mean < mean.mean for one in near)
                left = process[cell.id] == "markov"  # its names stand on the other side than star's
                axis.annotate(
                    cell.arm, (calls[cell.id], mean.mean),
                    xytext=(-6 if left else 6, 11 * lower - 5.5 * (len(near) - 1)),
                    textcoords="offset points", ha="right" if left else "left", va="center", fontsize=8,
                )  # fmt: skip
            (ours,) = [cell for cell in cells if cell.arm == BASELINE]
            for difference in (contrast(one, PUBLISHED, task, metric) for one in beside):
                if difference is not None:
                    _published(axis, calls[ours.id], ours.means[metric].mean, difference)
            axis.set(xscale="log", title=title if row == 0 else "", ylabel=words if column == 0 else "")
            axis.margins(x=0.25)
            if row:
                axis.set_xlabel("decoder calls an image")
        print(f"\n{title}\n| arm | calls | LPIPS | PSNR | n | LPIPS against {BASELINE} | PSNR against {BASELINE} |")
        print("| --- " * 7 + "|")
        for cell in sorted(cells, key=lambda cell: calls[cell.id]):
            means = (spelled(cell.means[metric]) for metric in METRICS)
            gaps = ("-" if cell.arm == BASELINE else gap(sweep, cell.arm, task, metric) for metric in METRICS)
            count = cell.count - cell.failed
            print(f"| {cell.arm} | {calls[cell.id]} | {' | '.join(means)} | {count} | {' | '.join(gaps)} |")
    figure.savefig(out, dpi=90)


def decoder_calls(method: str, settings: dict[str, object]) -> int:
    found = find_method(method)
    return round(found.work(found.validated(settings))[1])


def _published(axis: Axes, calls: int, protocol: float, difference: Interval) -> None:
    mean, ends = protocol + difference.mean, [[difference.mean - difference.low], [difference.high - difference.mean]]
    at = 1.5 * calls  # beside the protocol, whose calls it has
    axis.errorbar(at, mean, ends, fmt="s", color="0.4", capsize=3)
    axis.annotate(PUBLISHED, (at, mean), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8)


def gap(sweep: Sweep, arm: str, task: str, metric: str) -> str:
    """How much an arm is above the baseline, with the interval of the paired differences."""
    difference = contrast(sweep, arm, task, metric)
    assert difference is not None
    return spelled(difference, "+")


def contrast(sweep: Sweep, arm: str, task: str, metric: str) -> Interval | None:
    """An arm minus the baseline, paired; None where the sweep has not this task."""
    for one in sweep.contrast(arm, BASELINE):
        if (one.task, one.metric.name) == (task, metric):
            return one.result.difference
    return None


def spelled(interval: object, sign: str = "") -> str:
    mean, low, high = (getattr(interval, name) for name in ("mean", "low", "high"))
    digits = 3 if abs(mean) < 1 and max(abs(low), abs(high)) < 1 else 2
    return f"{mean:{sign}.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


if __name__ == "__main__":
    main(*sys.argv[1:])
