"""An output belongs to one sweep: another, or a folder of other files, is refused before anything is written."""

import json
import uuid

import pytest

from pipelines.storage import open_store
from tests.pipelines.sweep_cases import run, specification, write_spec


@pytest.fixture(params=["local", "s3"])
def output(request, tmp_path):
    if request.param == "local":
        return str(tmp_path / "out")
    environment = request.getfixturevalue("s3_env")
    return f"s3://{environment['G2D2_BUCKET']}/{uuid.uuid4().hex}"


@pytest.fixture
def begin(small_manifest, tiny_prior, tmp_path):
    """Plans a sweep, and leaves its summary as a sweep that has begun does."""

    def plan(output, **changes):
        from operators.validation import validate
        from pipelines.plan.planning import make_plan
        from pipelines.plan.sweep_spec import SweepSpec
        from pipelines.score.scorings import Scoring
        from pipelines.storage.sweep_folder import SweepFolder
        from pipelines.sweep import sweep_summary

        values = specification(small_manifest, tiny_prior, output) | changes
        code = run("plan", write_spec(tmp_path / "spec.yaml", values), "--no-calibration")
        if code == 0:
            spec, folder = validate(SweepSpec, values), SweepFolder(output)
            folder.write_summary(sweep_summary(spec, make_plan(spec, folder), Scoring.of(spec.metrics)))
        return code

    return plan


def content(output):
    store = open_store(output)
    return {name: store.read_bytes(name) for name in store.list()}


def test_a_sweep_of_another_name_is_refused(begin, output, capsys):
    assert begin(output) == 0
    before = content(output)
    assert begin(output, name="other", seeds=[3]) == 2
    error = capsys.readouterr().err
    assert "it holds sweep 'small', and this one is 'other'" in error
    assert error.count("\n") == 1
    assert content(output) == before


def test_a_sweep_that_grew_is_the_same_sweep(begin, tmp_path):
    output = str(tmp_path / "out")
    assert begin(output) == 0
    (tmp_path / "out" / "notes.txt").write_text("of the one who runs it")
    for growth in ({"seeds": [0, 1]}, {"metrics": ["psnr_8bit"]}, {"grid": {"cross": {"gamma": [0.1, 0.2]}}}):
        assert begin(output, **growth) == 0


def test_sweeps_that_share_say_so_both(begin, tmp_path, capsys):
    output = str(tmp_path / "out")
    assert begin(output) == 0
    assert begin(output, name="other", shared=True) == 2
    assert "`shared: true`" in capsys.readouterr().err
    assert begin(output, shared=True) == 0
    assert begin(output, name="other", shared=True) == 0
    assert begin(output) == 2


def test_a_folder_of_other_files_is_refused(begin, output, capsys):
    store = open_store(output)
    store.write_bytes("thesis.txt", b"all of it")
    store.write_bytes("pictures/a.png", b"a picture")
    assert begin(output) == 2
    assert "it holds pictures/ and 1 more, which no sweep writes" in capsys.readouterr().err
    assert store.list() == ["pictures/a.png", "thesis.txt"]


def test_what_sweeps_and_file_systems_leave_is_no_hindrance(begin, tmp_path):
    output = tmp_path / "out"
    (output / "lost+found").mkdir(parents=True)
    for name in (".DS_Store", "mlflow.db", "mlflow.db-journal", "tracking.json"):
        (output / name).write_text("{}")
    assert begin(str(output)) == 0


@pytest.mark.parametrize("damage", ["{}", "[]", "null", '"a', '{"plan": 3}', "unnamed", "elsewhere"])
def test_a_damaged_summary_is_named_by_every_command(damage, begin, tmp_path, capsys):
    output = tmp_path / "out"
    assert begin(str(output)) == 0
    file = output / "sweep.json"
    values = json.loads(file.read_text())
    if damage == "unnamed":
        values["specification"] = {}
    elif damage == "elsewhere":
        values["plan"] = "../../etc/passwd"
    file.write_text(damage if damage[0] in '{[n"' else json.dumps(values))
    for words in (["status"], ["report"], ["score"], ["track"], ["plan"]):
        capsys.readouterr()
        target = tmp_path / "spec.yaml" if words == ["plan"] else output
        assert run(*words, target) == 2
        error = capsys.readouterr().err
        assert f"{file}: it is damaged" in error
        assert error.count("\n") == 1


@pytest.mark.parametrize("command", ["status", "report", "track"])
def test_an_output_of_an_earlier_version_is_refused_in_a_sentence(command, tmp_path, capsys):
    old = {
        "specification": {"name": "old"},
        "plan": "a" * 32,
        "scoring": "b" * 32,
        "prior_digest": "c",
        "solver_version": 1,
    }
    (tmp_path / "sweep.json").write_text(json.dumps(old))
    assert run(command, tmp_path) == 2
    message = capsys.readouterr().err
    assert "an earlier version of this program made it" in message
    assert message.strip().count("\n") == 0
