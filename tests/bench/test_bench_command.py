"""`python -m bench --quick` runs every kind of bench on tiny shapes and leaves valid JSON."""

import json

import pytest
import torch

from bench.__main__ import main
from bench.registry import BENCHES


def test_names():
    assert {"solver", "operators", "randomness", "profile", "metrics", "pipeline", "driver", "tracking"} <= set(BENCHES)


@pytest.mark.parametrize("name", ["solver", "randomness", "profile"])
def test_quick_run_writes_rows_and_machine_facts(name, tmp_path, capsys):
    threads = torch.get_num_threads()
    assert main(["--quick", "--threads", "1", "--only", name, "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / f"{name}.json").read_text())
    assert result["bench"] == name
    assert result["rows"]
    assert result["machine"]["torch"] == torch.__version__
    assert result["machine"]["threads"] == 1
    assert torch.get_num_threads() == threads
    header = capsys.readouterr().out.splitlines()[2].split()
    assert header == list(result["rows"][0])


def test_shares_of_the_profile_sum_to_one(tmp_path):
    main(["--quick", "--threads", "1", "--only", "profile", "--out", str(tmp_path)])
    rows = json.loads((tmp_path / "profile.json").read_text())["rows"]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)


def test_unknown_bench_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
    assert "invalid choice" in capsys.readouterr().err
