"""How many samples of a prompt alone are nearest to it, by guidance, and how their feet slide: which guidance to take.

python examples/paper/motion/told_prompts.py [PRIOR]
"""

import sys
from pathlib import Path
from statistics import fmean

from torch import Tensor

from eval.metrics import Scored, build_metric
from eval.motion_evaluators import open_evaluator
from g2d2.priors.loading import load_prior
from g2d2.training.masked_motion.motion_samples import sample_motions

PROMPTS = (Path(__file__).parent / "prompts.txt").read_text().split("\n")[:-1]
COUNT, GUIDANCES = 12, (1.0, 2.0, 3.0, 5.0)


def main(name: str) -> None:
    prior, evaluator = load_prior(name), open_evaluator("cmu")
    texts = evaluator.texts(PROMPTS)
    asked = [prompt for prompt in PROMPTS for _ in range(COUNT)]
    for guidance in GUIDANCES:
        frames = [prior.x_shape[0]] * len(asked)
        motions = sample_motions(prior, asked, frames, range(len(asked)), guidance=guidance)
        embedded = evaluator.motions(list(motions))
        nearest = [PROMPTS[int(((texts - own) ** 2).sum(1).argmin())] for own in embedded]
        right = sum(one == own for one, own in zip(nearest, asked, strict=True))
        print(f"guidance {guidance:g}: {right} of {len(asked)} are nearest to their own prompt")
        for prompt in PROMPTS:
            own = [motion for motion, one in zip(motions, asked, strict=True) if one == prompt]
            print(f"  {prompt}: sliding {fmean(map(sliding, own)):.3f}")


def sliding(motion: Tensor) -> float:
    return float(build_metric("foot_skating")(Scored(None, motion[None], signal="motion")))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    main(*sys.argv[1:] or ["cmu-motion"])
