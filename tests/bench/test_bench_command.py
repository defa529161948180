"""`python -m bench` runs each bench alone, outlives those that fail, can be interrupted, and ends with a table."""

import json
from pathlib import Path

import pytest
import torch

import bench.__main__ as command
from bench.__main__ import main, run_alone
from bench.one import measure
from bench.registry import SUITE, Bench, Effort, find_bench
from bench.result import read_result
from tests.bench.results import result

QUICK = Effort("quick", 1)


def test_the_suite_is_every_module_that_declares_ratios():
    folder = Path(command.__file__).parent
    declaring = {path.stem for path in folder.glob("*.py") if "\n@stands_for(" in path.read_text()}
    assert sorted(SUITE) == sorted(declaring)


@pytest.mark.parametrize("name", SUITE)
def test_a_bench_stands_for_ratios_of_different_names(name):
    names = [ratio.name for ratio in find_bench(name).ratios]
    assert names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["solver", "randomness", "profile"])
def test_quick_run_writes_rows_and_machine_facts(name, tmp_path, capsys):
    threads = torch.get_num_threads()
    measure(name, find_bench(name), QUICK, tmp_path)
    written = json.loads((tmp_path / f"{name}.json").read_text())
    assert (written["bench"], written["level"], written["error"]) == (name, "quick", None)
    assert written["rows"]
    assert written["machine"]["torch"] == torch.__version__
    assert written["machine"]["threads"] == 1
    assert torch.get_num_threads() == threads
    assert capsys.readouterr().out.splitlines()[0].split() == list(written["rows"][0])
    assert [ratio["name"] for ratio in written["ratios"]] == [ratio.name for ratio in find_bench(name).ratios]


def test_shares_of_the_profile_sum_to_one(tmp_path):
    rows = measure("profile", find_bench("profile"), QUICK, tmp_path).rows
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)


def test_one_bench_in_a_process_of_its_own(tmp_path, capfd):
    assert main(["--quick", "--threads", "1", "--only", "randomness", "--out", str(tmp_path)]) == 0
    out = capfd.readouterr().out
    assert "[1 of 1] randomness: 0.0 minutes so far" in out
    assert "torch's generators by hashed numbers" in out
    assert "1 bench in" in out
    assert read_result(tmp_path / "quick", "randomness").seconds > 1  # starting Python and torch is part of it


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_quick_run_of_everything(tmp_path, capfd):
    assert main(["--quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    out = capfd.readouterr().out
    for name in SUITE:
        found = read_result(tmp_path / "quick", name)
        for ratio in find_bench(name).ratios:
            assert ratio.name in out
            assert all({ratio.column, *ratio.where} <= row.keys() for row in found.rows)


def test_unknown_bench_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
    assert "invalid choice" in capsys.readouterr().err


def test_the_reason_of_a_failure_is_kept(tmp_path, capsys):
    def fail(effort):
        raise OSError("no room\nleft")

    found = measure("gate", Bench(fail, ()), QUICK, tmp_path)
    assert found == read_result(tmp_path, "gate")
    assert (found.error, found.rows) == ("OSError: no room left", [])
    assert "in fail" in capsys.readouterr().err  # where it happened


def test_a_process_that_leaves_no_result_is_a_failure(tmp_path):
    result("nothing").write(tmp_path)
    found = run_alone("nothing", QUICK, tmp_path)
    assert found.error == "its process ended with code 2 and left no result"
    assert read_result(tmp_path, "nothing") == found  # the earlier one is gone


def test_a_bench_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_LIMIT", 0.2)
    assert "was ended" in run_alone("coverage", Effort("normal", 1), tmp_path).error


class Alone:
    """Stands in for `run_alone`: notes what is run, and does to it what a test asks for."""

    def __init__(self, monkeypatch, **errors):
        self.ran, self.errors = [], errors
        monkeypatch.setattr(command, "run_alone", self)
        monkeypatch.setattr(command, "read_accepted", lambda: None)

    def __call__(self, name, effort, folder):
        self.ran.append(name)
        error = self.errors.get(name)
        if error is KeyboardInterrupt:
            raise error
        done = result(name, level=effort.level, threads=effort.threads, error=error, commit=command.commit())
        done.write(folder)
        return done


def test_a_bench_that_fails_stops_no_other_and_is_named(tmp_path, capsys, monkeypatch):
    alone = Alone(monkeypatch, operators="RuntimeError: the blurs differ")
    assert main(["--out", str(tmp_path)]) == 1
    assert alone.ran == list(SUITE)
    out = capsys.readouterr().out
    assert f"[{len(SUITE)} of {len(SUITE)}] {SUITE[-1]}" in out
    assert out.splitlines()[-1] == "failed: operators: RuntimeError: the blurs differ"


def test_an_interrupted_run_shows_what_it_has_and_is_resumed(tmp_path, capsys, monkeypatch):
    words = ["--threads", "1", "--out", str(tmp_path)]
    Alone(monkeypatch, randomness=KeyboardInterrupt)
    assert main(words) == 130
    out = capsys.readouterr().out
    assert "2 benches in" in out
    assert "--resume" in out.splitlines()[-1]
    alone = Alone(monkeypatch)
    assert main([*words, "--resume"]) == 0
    assert alone.ran == list(SUITE[2:])
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"{len(SUITE)} benches in {len(SUITE)}.0 minutes, load")


@pytest.mark.parametrize("changes", [{"commit": "0000"}, {"threads": 2}, {"error": "OSError: full"}])
def test_resuming_measures_anew_what_is_of_other_code_or_failed(changes, tmp_path, monkeypatch):
    result("gate", **{"threads": 1, "commit": command.commit()} | changes).write(tmp_path / "normal")
    alone = Alone(monkeypatch)
    main(["--threads", "1", "--out", str(tmp_path), "--only", "gate", "--resume"])
    assert alone.ran == ["gate"]


def test_accepting_needs_a_whole_run(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "ACCEPTED", tmp_path / "accepted.json")
    Alone(monkeypatch)
    main(["--out", str(tmp_path), "--only", "solver"])
    assert main(["--out", str(tmp_path), "--accept"]) == 2
    assert "no result of bench 'operators'" in capsys.readouterr().err
    assert not (tmp_path / "accepted.json").exists()


def test_only_normal_runs_are_accepted(capsys):
    assert main(["--quick", "--accept"]) == 2
    assert "--accept takes normal runs, and --quick asks for another level" in capsys.readouterr().err


def test_a_whole_run_is_accepted(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "ACCEPTED", tmp_path / "accepted.json")
    Alone(monkeypatch)
    main(["--out", str(tmp_path)])
    assert main(["--out", str(tmp_path), "--accept"]) == 0
    assert f"{len(SUITE)} ratios of commit" in capsys.readouterr().out
    written = json.loads((tmp_path / "accepted.json").read_text())
    assert list(written["benches"]) == list(SUITE)
