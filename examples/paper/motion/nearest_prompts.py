"""Does the prompt decide the action while the path is met? Which prompt each motion of a finished sweep is nearest to.

python examples/paper/motion/nearest_prompts.py OUTPUT

Prints for every arm and prompt how many of its motions lie nearest to each prompt, by the embedded evaluator.
"""

import sys
from collections import Counter

from eval.motion_evaluators import open_evaluator
from pipelines import Sweep
from pipelines.manifest import Manifest


def main(output: str) -> None:
    sweep, evaluator = Sweep.open(output), open_evaluator("cmu")
    (rows,) = Manifest.open(sweep.spec.manifest).index(("id", "prompt"))
    asked = dict(zip(rows["id"].to_pylist(), rows["prompt"].to_pylist(), strict=True))
    prompts = list(dict.fromkeys(asked.values()))
    texts = evaluator.texts(prompts)
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for measurement in sweep.measurements():
        pictures = [one for one in sweep.images(measurement) if one.cell]
        motions = evaluator.motions([one.values for one in pictures])
        for picture, motion in zip(pictures, motions, strict=True):
            nearest = prompts[int(((texts - motion) ** 2).sum(1).argmin())]
            counts.setdefault(picture.name, Counter())[asked[measurement], nearest] += 1
    for arm, count in counts.items():
        right = sum(count[prompt, prompt] for prompt in prompts)
        print(f"{arm}: {right} of {count.total()} motions are nearest to their own prompt")
        for prompt in prompts:
            print(f"  {prompt}: " + ", ".join(f"{count[prompt, other]} {other!r}" for other in prompts))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
