"""The ready-made schedules and the example: they load, and call what there is."""

from pathlib import Path

import yaml

from pipelines.cli import build_parser
from pipelines.nightly import load_nightly

EXAMPLES = Path(__file__).parents[3] / "examples"


def arguments(line):
    words = line.partition("g2d2 ")[2].split()
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


def test_the_workflow_is_yaml_with_a_schedule_and_a_command_that_parses():
    workflow = yaml.safe_load((EXAMPLES / "schedules" / "github-actions.yml").read_text())
    assert workflow[True]["schedule"][0]["cron"] == "30 2 * * *"  # YAML 1.1 reads `on` as true
    steps = workflow["jobs"]["evaluate"]["steps"]
    (line,) = [step["run"] for step in steps if "g2d2 nightly" in step.get("run", "")]
    assert arguments(line).junit == Path("nightly/junit.xml")
    assert workflow["concurrency"]["cancel-in-progress"] is False
