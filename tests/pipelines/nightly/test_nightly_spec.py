"""The night's file: what it may say, and the sentences where it may not."""

import pyarrow as pa
import pytest
import yaml

from eval.scores import ScoreTable, score_schema
from operators import InputError
from pipelines.nightly import load_nightly

SWEEP = {"manifest": "m", "prior": "p", "metrics": ["psnr", "residual"]}


def load(tmp_path, **changes):
    path = tmp_path / "n.yaml"
    path.write_text(yaml.safe_dump({"name": "n", "output": str(tmp_path / "o"), "sweep": SWEEP} | changes))
    return load_nightly(path)


def accepted(*metrics):
    """A baseline that has these metrics."""
    row = {"item": "i", "measurement": "m", "cell": "c", "seed": 0} | dict.fromkeys(metrics, 1.0)
    return ScoreTable(pa.Table.from_pylist([row], schema=score_schema(metrics, {})))


def test_each_night_has_a_folder_of_its_own_and_all_share_a_database(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    spec = load(tmp_path)
    first, second = spec.sweep_spec("a"), spec.sweep_spec("b")
    assert (first.name, first.output) == ("n-a", f"{tmp_path}/o/nights/a")
    assert second.output == f"{tmp_path}/o/nights/b"
    assert first.tracking.uri == second.tracking.uri == f"sqlite:///{tmp_path}/o/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    assert spec.sweep_spec("a").tracking.uri is None


def test_a_sweeps_own_file_can_be_named(tmp_path):
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(SWEEP | {"name": "own", "output": "elsewhere", "seeds": [3]}))
    sweep = load(tmp_path, sweep=str(tmp_path / "s.yaml")).sweep_spec("a")
    assert (sweep.name, sweep.seeds, sweep.output) == ("n-a", [3], f"{tmp_path}/o/nights/a")


def test_tolerances_and_shares_are_read_as_people_write_them(tmp_path):
    spec = load(tmp_path, tolerances={"psnr": 0.2, "residual": {"direction": "lower", "relative": 0.1}}, speed="40%")
    assert spec.speed == 0.4
    assert spec.memory == 0.1
    found = spec.gate(accepted("psnr", "residual", "seconds"))
    assert (found["psnr"].absolute, found["residual"].relative) == (0.2, 0.1)
    assert list(load(tmp_path).gate(accepted("psnr", "residual"))) == ["psnr"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sweep": SWEEP | {"output": "o"}}, "sweep.output is decided here"),
        ({"sweep": SWEEP | {"metrics": ["beauty"]}}, "sweep: metrics is"),
        ({"sweep": "nothing.yaml"}, "there is no such file"),
        ({"tolerances": {"ssim": 0.1}}, "tolerances name ssim, which the sweep does not measure"),
        ({"tolerances": {"residual": 0.1}}, "whether more of 'residual' is better is unknown"),
        ({"tolerances": {}}, "tolerances name no metric"),
        ({"speed": "fast"}, "speed is 'fast'"),
        ({"name": "a/b"}, "it must be letters"),
        ({"night": 3}, "unknown setting 'night'"),
        ({"webhook": "A B"}, "name of an environment variable"),
    ],
)
def test_mistakes_are_told_in_one_sentence(changes, said, tmp_path):
    with pytest.raises(InputError, match=said) as caught:
        load(tmp_path, **changes)
    assert len(str(caught.value).splitlines()) == 1


def test_a_url_in_the_file_is_refused_and_not_repeated(tmp_path):
    with pytest.raises(InputError, match="which is a secret") as caught:
        load(tmp_path, webhook="https://hooks.example.com/services/T0/B0/SECRET")
    assert "hooks" not in str(caught.value)


def test_a_night_cannot_leave_the_output(tmp_path):
    for name in ("../x", "a/b", ".."):
        with pytest.raises(InputError, match="it must be letters"):
            load(tmp_path).sweep_spec(name)
