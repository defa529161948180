"""The ready-made schedules and the example: they load, and call what there is."""

import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from pipelines.cli import build_parser
from pipelines.nightly import load_nightly

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
WORKFLOW = EXAMPLES / "schedules" / "github-actions.yml"


def arguments(line):
    words = shlex.split(line.partition("g2d2 ")[2], comments=True)
    return build_parser(words[0]).parse_args(words)


def test_the_example_is_a_valid_evaluation():
    spec = load_nightly(EXAMPLES / "nightly.yaml")
    assert (spec.speed, spec.memory) == (0.25, 0.1)
    assert set(spec.judged()) <= set(spec.sweep_spec("x").metrics)
    commands = [line for line in (EXAMPLES / "nightly.yaml").read_text().splitlines() if line.startswith("#   g2d2 ")]
    assert [arguments(line).command for line in commands] == ["manifest", "nightly", "nightly"]


def test_the_crontab_runs_the_command_once_a_day_without_overlap():
    (line,) = [line for line in (EXAMPLES / "schedules" / "crontab").read_text().splitlines() if line[0].isdigit()]
    assert line.split()[:5] == ["30", "2", "*", "*", "*"]
    assert "flock --nonblock" in line
    assert arguments(line).words == ["examples/nightly.yaml"]
    assert (ROOT / arguments(line).words[0]).exists()


def test_the_workflow_is_yaml_with_a_schedule_and_a_command_that_parses():
    workflow = yaml.safe_load(WORKFLOW.read_text())
    assert workflow[True]["schedule"][0]["cron"] == "30 2 * * *"  # YAML 1.1 reads `on` as true
    steps = workflow["jobs"]["evaluate"]["steps"]
    (line,) = [step["run"] for step in steps if "g2d2 nightly" in step.get("run", "")]
    assert arguments(line).junit == Path("nightly/junit.xml")
    assert workflow["concurrency"]["cancel-in-progress"] is False


@pytest.mark.parametrize("page", [WORKFLOW, ROOT / "docs" / "nightly.md"], ids=lambda page: page.name)
def test_the_workflows_specification_can_be_made_as_told(page, tmp_path):
    lines = [line.removeprefix("#").strip() for line in page.read_text().splitlines()]
    (making,) = [line for line in lines if line.startswith("sed ")]
    source, target = making.split()[2], making.split()[4]
    made = subprocess.run(["bash", "-c", making.partition(">")[0]], cwd=ROOT, capture_output=True, check=True)
    (tmp_path / target).write_bytes(made.stdout)
    spec = load_nightly(tmp_path / target)
    assert source == "examples/nightly.yaml"
    assert spec.output.startswith("s3://")

    manifest = spec.sweep_spec("x").manifest
    assert manifest.startswith("s3://")
    assert manifest in [arguments(line).out for line in lines if line.startswith("g2d2 manifest build ")]
    accepted = [line for line in lines if line.startswith(f"g2d2 nightly accept {target} ")]
    assert all(arguments(line).words == ["accept", target] for line in accepted)
    assert accepted
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["evaluate"]["steps"]
    (line,) = [step["run"] for step in steps if "g2d2 nightly" in step.get("run", "")]
    assert arguments(line).words == [target]
