"""Clips of people whom the embedded prior of motion never saw, as a Parquet that `g2d2 manifest build` reads.

python examples/paper/motion/held_out_clips.py JOINTS.parquet OUT.parquet [WORD [MANIFEST ...]]

The first file is what the prior was trained on: columns clip, subject, label and joints (docs/motion.md). Only clips
whose label has the word are taken, `walk` by default, each once and at most ten seconds of it, one of every person
before the second of any. The column prompt words the label as the prior was told it. Clips of the manifests are left
out: settings are tuned on clips that nothing judges.
"""

import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from g2d2.training.masked_motion.captured_clips import held_out_rows
from g2d2.training.masked_motion.motion_prompts import wordings
from operators.skeleton.joint_names import JOINTS, LONGEST
from pipelines.manifest import Manifest

FRAME = 2 * 3 * len(JOINTS)
"""Bytes of one frame; each but the first is a difference, so that a clip may end after any."""


def main(source: Path, out: Path, word: str, judged: list[str]) -> None:
    known = {name for folder in judged for name in clips_of(folder)}
    taken: Counter[int] = Counter()
    rows = []
    for row in held_out_rows(source):
        if word not in (row["label"] or "").lower() or row["clip"] in known:
            continue
        kept = {"clip": row["clip"], "label": row["label"], "prompt": wordings(row["label"])[:2][-1]}
        rows.append((taken[row["person"]], kept | {"joints": row["joints"][: (LONGEST + 1) * FRAME]}))
        taken[row["person"]] += 1
    if not rows:
        sys.exit(f"{source}: no clip of a held-out person that is left has the word {word!r} in its label")
    out.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([row for _, row in sorted(rows, key=lambda one: one[0])]), out)
    print(f"{out}: {len(rows)} clips of {len(taken)} people")


def clips_of(manifest: str) -> set[str]:
    """The clips that a manifest measures, by their names in the source."""
    return {name.split("/")[1] for rows in Manifest.open(manifest).index(("id",)) for name in rows["id"].to_pylist()}


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "walk", sys.argv[4:])
