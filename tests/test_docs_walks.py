"""The commands of README and docs/ are run as they stand, page by page, each in a folder of its own.

What a page takes for granted is made first; numbers are made small; a command that needs what no test has (a cloud, a
download, a GPU) is left out by name, with the reason.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.test_docs import PAGES, ROOT

SWEEP = """
g2d2 manifest build cifar10-heldout manifests/few --task gaussian-deblur-32 --limit 2
cat > sweep.yaml <<'SPEC'
name: eta
manifest: manifests/few
prior: cifar10
output: out/eta
solver: { preset: tuned, settings: { steps: 5, iterations: 3 } }
grid: { cross: { process: [star, markov], eta_kl: [0.0003, 0.003] } }
metrics: [psnr, lpips_vgg, residual]
SPEC
"""
RUN = f"{SWEEP}g2d2 sweep sweep.yaml\n"
BUCKET = {"s3://bucket/": "s3://g2d2/"}
STOPPED = "trap 'g2d2 services stop' EXIT\n"
"""Whatever a walk starts ends with it."""


def in_bucket(output):
    """The same sweep from a bucket to a bucket."""
    manifest = f"{output}-manifest"
    return (
        f"g2d2 manifest build cifar10-heldout {manifest} --task gaussian-deblur-32 --limit 2\n"
        f"sed 's|manifests/few|{manifest}|; s|out/eta|{output}|' sweep.yaml > far.yaml\n"
        "echo 'tracking: { enabled: false }' >> far.yaml\n"
        "g2d2 sweep far.yaml\n"
    )


@dataclass(frozen=True)
class Walk:
    """How a page is followed."""

    page: str
    before: str = ""
    """Shell: what the page takes for granted."""

    smaller: dict[str, str] = field(default_factory=dict)
    """What is written, and what is run instead: fewer images, a local server, what a scheduler does meanwhile."""

    left_out: dict[str, str] = field(default_factory=dict)
    """How a line begins, and why it is not run."""

    blocks_left_out: dict[str, str] = field(default_factory=dict)
    """How a block begins, and why none of it is run."""

    python: bool = False
    """Unnamed Python is run too, where its lines stand."""

    after: str = ""
    """Shell: what must have come of it."""

    def script(self) -> str:
        text = (ROOT / self.page).read_text()
        blocks = re.findall(r"^```(sh|yaml|python)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
        lines = ["set -e", self.before, *(part for one in blocks for part in self._shell(*one)), self.after]
        script = "\n".join(lines)
        for written, run in self.smaller.items():
            script = script.replace(written, run)
        return script

    def _shell(self, language: str, content: str) -> Iterator[str]:
        named = re.match(r"# (\S+\.\w+)\n", content)
        if named:
            yield f"cat > {named[1]} <<'END_OF_FILE'\n{content}END_OF_FILE"
        elif language == "sh" and not any(content.startswith(start) for start in self.blocks_left_out):
            kept = [line for line in commands(content) if not any(line.startswith(start) for start in self.left_out)]
            yield "\n".join(kept)
        elif language == "python" and self.python:
            yield f"python - <<'END_OF_FILE'\n{content}END_OF_FILE"


def commands(block: str) -> list[str]:
    """A block's lines, those that a backslash continues as one."""
    return block.replace("\\\n", " ").splitlines()


WALKS = [
    Walk(
        "README.md",
        smaller={"--limit 12": "--limit 1"},
        left_out={
            "make ": "CI runs `make test`, which makes the environment; the demo's command has tests of its own",
            "g2d2 submit": "jobs.md",
            "g2d2 manifest build cifar10-heldout out/nightly": "nightly.md",
            "g2d2 nightly": "nightly.md",
        },
        after="test -s out/tour/sweep/report/index.html",
    ),
    Walk("docs/adding-an-operator.md", after="test -s out/rows/report/index.html"),
    Walk("docs/adding-a-prior.md", smaller={"--limit 8": "--limit 2"}, python=True, after="ls out/*/report/index.html"),
    Walk("docs/adding-a-method.md", after="test -s out/landweber/report/index.html"),
    Walk("docs/adding-a-metric.md", after="ls out/*/report/index.html"),
    Walk("docs/your-images.md"),
    Walk(
        "docs/clusters.md",
        before=STOPPED,
        smaller={
            "cp cluster/values.yaml mine.yaml": "sed 's/ami: null/ami: ami-0123456789abcdef0/; "
            "s/security_groups: .*/security_groups: [sg-0123456789abcdef0]/' cluster/values.yaml > mine.yaml"
        },
        blocks_left_out={
            "export AWS_REGION": "an account at a cloud",
            "docker build": "a container engine",
            "(umask 077": "an account at a cloud; the first part runs the same commands on this machine",
            "kubectl": "a Kubernetes cluster",
            "python -m pipelines.storage.lease": "an account at a cloud; tests/pipelines/storage/test_lease.py",
        },
    ),
    Walk(
        "docs/embedded-prior.md",
        smaller={"sr4-32 gaussian-deblur-32\n": "sr4-32 gaussian-deblur-32 --limit 1\n"},
        left_out={"g2d2 prior train": "most of an hour; tests/g2d2/training"},
    ),
    Walk(
        "docs/jobs.md",
        before=SWEEP,
        smaller={"--address http://head:8265": '--address "$RAY_API_SERVER_ADDRESS"'},
        left_out={"ray job submit": "tests/cluster/test_submit_cluster.py"},
    ),
    Walk("docs/manifests.md", smaller={"--limit 100": "--limit 2"}, python=True, after="test -s sheet.png"),
    Walk(
        "docs/metrics.md",
        before="cp -r examples/pictures truth; cp -r truth restored",
        after="test -s scores.parquet",
    ),
    Walk(
        "docs/motion.md",
        before="printf 'x,z\\n0,0\\n0,1\\n0,2\\n1,3\\n' > mine.csv; echo 'a person walks' > prompts.txt\n",
        smaller={
            "g2d2 eval --signal motion": "mkdir -p real generated; cp out/walk/circle.npy real; cp real/* generated; "
            "g2d2 eval --signal motion"
        },
        left_out={
            "g2d2 manifest build HumanML3D/": "a data set; tests/pipelines/manifest/test_motion_manifest.py",
            "g2d2 manifest build recordings/": "a data set; tests/pipelines/manifest/test_motion_manifest.py",
            "g2d2 manifest build joints.parquet": "a data set; tests/pipelines/manifest/test_motion_manifest.py",
            "python -m eval.motion_matching": "a data set; tests/eval/motion_matching/test_matching_network.py",
        },
        after="test -s out/walk/circle.gif; ls manifests/mine manifests/paths",
    ),
    Walk(
        "docs/nightly.md",
        smaller=BUCKET
        | {
            "--limit 32": "--limit 2",
            "g2d2 nightly accept nightly.yaml": "g2d2 nightly nightly.yaml; g2d2 nightly accept nightly.yaml",
        },
        after="g2d2 nightly nightly.yaml --new; g2d2 nightly history nightly.yaml",
    ),
    Walk(
        "docs/priors.md",
        before="mkdir priors; cp -r $PRIORS/cifar10-vq my-prior; cp -r $PRIORS/cifar10-vq priors/ithq",
        left_out={
            "g2d2 prior fetch": "a download",
            "g2d2 prior check priors/ithq --as": "a download; tests/g2d2/priors/test_checking.py",
            "g2d2 prior convert": "a download; tests/g2d2/priors/test_conversion.py",
        },
    ),
    Walk("docs/python.md", smaller={"--limit 8": "--limit 2"}, after="ls out/python/manifest"),
    Walk(
        "docs/reports.md",
        before=RUN + "mkdir -p out/demo; cp -r out/eta out/demo/sweep\n" + in_bucket("s3://g2d2/sweeps/eta"),
        python=True,
        smaller=BUCKET,
        after="test -s eta.html; ls figures/*.pdf tables/*.tex; test -s out/demo/sweep/report/index.html\n"
        "test -s site/index.html",
    ),
    Walk("docs/racing.md", smaller={"--limit 64": "--limit 24"}, after="test -s out/race/sweep/report/index.html"),
    Walk(
        "docs/results.md",
        left_out={
            "g2d2 sweep examples/cifar10/methods.yaml": "more than an hour; tests/pipelines/test_cifar10_examples.py",
            "g2d2 sweep examples/cifar10/masked.yaml": "half an hour; tests/pipelines/test_cifar10_examples.py",
            "g2d2 paper --only prior-choice": "minutes; tests/pipelines/paper/test_paper_examples.py",
            "python examples/cifar10/picture.py": "needs it; tests/pipelines/test_cifar10_examples.py",
        },
    ),
    Walk("docs/scaling.md", left_out={"python -m bench": "`make bench`: measured, never tested"}),
    Walk("docs/services.md", before=STOPPED),
    Walk(
        "docs/statistics.md",
        before=RUN + "cp out/eta/results/*.parquet tonight.parquet; cp tonight.parquet accepted.parquet\n",
        after="test -s gate.xml",
    ),
    Walk(
        "docs/sweeps.md",
        before=SWEEP.replace("preset: tuned, ", "").replace("out/eta", "out/cifar10/tuning/pixel")
        + "g2d2 sweep sweep.yaml; mkdir priors; cp -r $PRIORS/cifar10-vq priors/mine\n",
        left_out={"g2d2 sweep examples/cifar10/tuning": "hours; tests/pipelines/test_tuning.py"},
        after="test -s priors/mine/tuning.json",
    ),
    Walk(
        "docs/tracking.md",
        before=RUN + "cp -r out/eta out/eta-sweep\n" + in_bucket("s3://g2d2/eta-sweep"),
        smaller=BUCKET | {"http://mlflow:5000": '"$MLFLOW_ADDRESS"'},
    ),
    Walk(
        "examples/paper/README.md",
        left_out={
            "g2d2 paper  ": "eleven minutes; tests/pipelines/paper/test_paper_examples.py",
            "g2d2 paper --only": "minutes; tests/pipelines/paper/test_paper_examples.py",
            "g2d2 sweep": "GPUs",
            "g2d2 paper --full": "GPUs",
            "python examples/paper/imagenet_csv.py": "ImageNet; tests/pipelines/paper/test_paper_examples.py",
            "g2d2 manifest build imagenet.csv": "ImageNet",
            "g2d2 manifest build ffhq256": "FFHQ",
            "g2d2 prior convert": "a download; tests/g2d2/priors/pixel_diffusion",
        },
    ),
    Walk(
        "examples/paper/motion/README.md",
        left_out={
            "g2d2 sweep": "minutes; tests/pipelines/paper/test_motion_examples.py plans each",
            "python examples/paper/motion/held_out_clips.py": "a data set; the same test",
            "g2d2 manifest build out/paper/motion/walks.parquet": "a data set; the same test",
            "g2d2 manifest build out/paper/motion/actions.parquet": "a data set; the same test",
            "g2d2 score out/paper/motion/captured-minis": "a sweep of minutes",
            "g2d2 manifest build out/paper/motion/tuning.parquet": "a data set; the same test",
            "g2d2 tune out/paper/motion/tuning": "a sweep of minutes; tests/motion_stand_in has a small one",
            "python examples/paper/motion/nearest_prompts.py": "a long sweep; tests/motion_stand_in has a small one",
            "python examples/paper/motion/film_strips.py": "a long sweep; tests/motion_stand_in has a small one",
            "g2d2 manifest build HumanML3D/": "a data set; the same test",
            "g2d2 prior convert": "a download; tests/g2d2/priors/masked_motion/test_mmm_conversion.py",
        },
        after="g2d2 plan examples/paper/motion/mini.yaml --no-calibration",
    ),
]


def test_every_page_with_commands_is_walked():
    with_commands = {str(page.relative_to(ROOT)) for page in PAGES if "```sh\n" in page.read_text()}
    assert with_commands == {walk.page for walk in WALKS}


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.page)
def test_what_a_walk_changes_is_in_the_page(walk):
    text = (ROOT / walk.page).read_text()
    for start in (*walk.left_out, *walk.blocks_left_out):
        assert re.search(rf"^{re.escape(start)}", text, flags=re.MULTILINE), f"{walk.page} has no {start!r}"
    whole = text.replace("\\\n", " ")
    for written in walk.smaller:
        assert written in whole or written in walk.before, f"{walk.page} has no {written!r}"


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.page)
def test_walks_reach_their_end(walk, tmp_path, request):
    """With this project's command at hand, and servers where the page speaks of some."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "cluster").mkdir()
    shutil.copy(ROOT / "cluster" / "values.yaml", tmp_path / "cluster")
    script = walk.script()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "RAY_"))} | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "PRIORS": str(ROOT / "g2d2" / "priors" / "embedded"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    if "s3://" in script and "g2d2 services" not in script:
        environment |= request.getfixturevalue("s3_server").env
    if "MLFLOW_ADDRESS" in script:
        environment["MLFLOW_ADDRESS"] = request.getfixturevalue("mlflow_server").uri
    if walk.page == "docs/nightly.md":
        environment["MLFLOW_TRACKING_URI"] = request.getfixturevalue("mlflow_server").uri
    if walk.page == "docs/jobs.md":
        environment |= request.getfixturevalue("ray_head").env
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
