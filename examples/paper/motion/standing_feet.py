"""Does a prior of motion stand on the floor? Real clips of a manifest, their reconstructions from tokens, and samples.

python examples/paper/motion/standing_feet.py MANIFEST [PRIOR ...]

Prints the share of frames with a toe on the floor, the share of steps in which a foot slides, and the second over the
first: about the share of steps on the floor that slide. Samples have the clips' prompts and lengths and see no path.
"""

import sys
from statistics import fmean

from torch import Tensor

from eval.metrics import Scored, build_metric
from g2d2.priors.loading import load_prior
from g2d2.training.masked_motion.motion_samples import sample_motions
from operators import InputError
from pipelines.manifest import Manifest, decode_truth, read_row


def main(folder: str, *names: str) -> None:
    clips = real_clips(Manifest.open(folder))
    print(f"{len(clips)} clips")
    motions = [motion for _, motion in clips]
    tell("real motions", motions)
    for name in names or ("cmu-motion",):
        prior = load_prior(name)
        step = prior.frames_per_token
        whole = [motion[: len(motion) // step * step] for motion in motions]
        tokens = [prior.encode(motion[None]) for motion in whole]
        made = [prior.decode(prior.codebook[own].mT)[0, : len(x)] for own, x in zip(tokens, whole, strict=True)]
        tell(f"{name}, reconstructions", made)
        lengths = [len(motion) for motion in motions]
        samples = sample_motions(prior, [prompt for prompt, _ in clips], lengths, range(len(clips)))
        tell(f"{name}, samples", [x[:own] for x, own in zip(samples, lengths, strict=True)])


def real_clips(manifest: Manifest) -> list[tuple[str, Tensor]]:
    """Prompt and features of every clip, once for all its tasks."""
    clips: dict[str, tuple[str, Tensor]] = {}
    for rows in manifest.index(("id", "prompt")):
        for row in rows.to_pylist():
            name = row["id"].split("/")[1]
            if name not in clips:
                truth = decode_truth(read_row(manifest.fetch([(row["shard"], row["row"])]), 0))
                clips[name] = row["prompt"], truth.float()
    return list(clips.values())


def tell(what: str, motions: list[Tensor]) -> None:
    """One line about a set."""
    on, slides = (
        fmean(float(build_metric(metric)(Scored(None, x[None], signal="motion"))) for x in motions)
        for metric in ("feet_on_floor", "foot_skating")
    )
    quotient = slides / max(on, 1e-9)
    print(f"{what}: a toe on the floor in {on:.3f}, sliding {slides:.3f}, of steps on the floor {quotient:.3f}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
