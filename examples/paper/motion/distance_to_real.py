"""How near are the motions of each arm of a finished sweep to real ones, and is that another distance than unguided?

python examples/paper/motion/distance_to_real.py OUTPUT [BASELINE]

Prints the Frechet distance of every arm on the embedded evaluator, and what it is more than the baseline's (`unguided`
unless another is named), paired by clip: a 95 % interval by the jackknife over clips, and p of a test that deals each
clip's two motions to the arms at random. Clips without a truth, or that an arm failed on, are left out of all arms.
"""

import sys

import numpy as np

from eval.embedding_sets import set_frechet
from eval.motion_evaluators import open_evaluator
from eval.statistics.set_difference import set_difference
from operators import InputError
from pipelines import Sweep


def main(output: str, baseline: str = "unguided") -> None:
    sweep, evaluator = Sweep.open(output), open_evaluator("cmu")
    arms = list(sweep.record.arms)
    if baseline not in arms:
        raise InputError(f"baseline: {baseline!r} is no arm of {output}; it has {', '.join(arms)}.")
    rows = []
    for measurement in sweep.measurements():
        own = {one.name: one.values for one in sweep.images(measurement, arms) if one.values is not None}
        if {"truth", *arms} <= set(own):
            rows.append(evaluator.motions([own["truth"], *(own[arm] for arm in arms)]))
    if len(rows) < 3:
        raise InputError(f"{output}: {len(rows)} clips have a truth and a motion of every arm: at least 3 are needed.")
    real, *sets = np.stack(rows, axis=1)
    embedded = dict(zip(arms, sets, strict=True))
    print(f"{len(rows)} clips")
    for arm, own in embedded.items():
        line = f"{arm}: {set_frechet(real, own):.3f}"
        if arm != baseline:
            found = set_difference(set_frechet, real, own, embedded[baseline])
            line += f", minus {baseline} {found.difference:+.3f} [{found.low:.3f}, {found.high:.3f}], "
            line += f"p = {found.p_value:.2g}"
        print(line)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
