"""Quality over decoder calls of a finished `judge.yaml`: a picture, and the page's tables on the terminal.

g2d2 sweep examples/cifar10/presets/judge.yaml
python examples/cifar10/presets/curve.py out/cifar10/presets/judge docs/figures/speed-curve.png
"""

import sys

from matplotlib.figure import Figure

from g2d2.methods import find_method
from pipelines import Sweep

TASKS = {"gaussian-deblur-32": "deblurring", "sr4-32": "4x super-resolution"}
METRICS = {"lpips_vgg": "LPIPS (lower is better)", "psnr": "PSNR, dB"}
COLORS = {"star": "C0", "markov": "C1"}
BASELINE = "protocol"


def main(folder: str, out: str) -> None:
    sweep = Sweep.open(folder)
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


def gap(sweep: Sweep, arm: str, task: str, metric: str) -> str:
    """How much an arm is above the baseline, with the interval of the paired differences."""
    (contrast,) = [one for one in sweep.contrast(arm, BASELINE) if (one.task, one.metric.name) == (task, metric)]
    return spelled(contrast.result.difference, "+")


def spelled(interval: object, sign: str = "") -> str:
    mean, low, high = (getattr(interval, name) for name in ("mean", "low", "high"))
    digits = 3 if abs(mean) < 1 and max(abs(low), abs(high)) < 1 else 2
    return f"{mean:{sign}.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


if __name__ == "__main__":
    main(*sys.argv[1:])
