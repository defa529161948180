"""Walks that the embedded prior makes of a prompt alone, as .npy that `g2d2 manifest build` reads: paths it can walk.

python examples/paper/motion/own_samples.py OUT_FOLDER [COUNT]

Solving for key frames of these tells whether feet slide because captured paths are foreign to the prior, or because of
how paths are met.
"""

import sys
from pathlib import Path

import numpy as np

from g2d2.priors.loading import load_prior
from g2d2.training.masked_motion.motion_samples import sample_motions

PRIOR, PROMPT, GUIDANCE = "cmu-motion", "a person walks", 2.0
FIRST_SEED = 1000
"""Far from the seeds of a manifest, so that no solved motion has the draws of its own truth."""


def main(out: Path, count: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    prior = load_prior(PRIOR)
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    motions = sample_motions(prior, [PROMPT] * count, [prior.x_shape[0]] * count, seeds, guidance=GUIDANCE)
    for seed, motion in zip(seeds, motions, strict=True):
        np.save(out / f"{seed}.npy", motion.numpy())
    print(f"{out}: {count} motions of {PROMPT!r}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 24)
