"""Files people write are refused by commands in one sentence, with the line and the nearest name."""

import pytest

from pipelines import cli

SWEEP = """\
name: small
manifest: m
prior: p
output: o
"""


def refusal(capsys, *words):
    assert cli.main([str(word) for word in words]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


@pytest.mark.parametrize(
    ("text", "place", "sentence"),
    [
        ("metrics: [psnr, pnsr]\n", "line 5, column 17", "'pnsr' (did you mean 'psnr'?)"),
        ("grid:\n  cross:\n    eta_lk: [1]\n", "line 7, column 5", "'eta_lk' is not a setting of g2d2 (did you mean"),
        ("grid:\n  zipped:\n  - gama: [1]\n", "line 7, column 5", "'gama' is not a setting of g2d2 (did you mean"),
        ("grid:\n  cross:\n    eta_kl: {range: [0, 1], count: 1}\n", "line 7, column 29", "count is 1"),
        (
            "solver:\n  settings:\n    eta_lk: 1\n",
            "line 7, column 5",
            "'eta_lk' is not a setting of g2d2 (did you mean",
        ),
        (
            "solver:\n  presett: paper\n",
            "line 6, column 3",
            "unknown setting 'solver.presett' (did you mean 'preset'?)",
        ),
        ("resources:\n  batch: 0\n", "line 6, column 3", "resources.batch is 0"),
        ("seeds: [1, x]\n", "line 5, column 12", "seeds.1 is 'x'"),
        ("name: twice\n", "line 5, column 1", "'name' is given twice, first in line 1"),
    ],
)
def test_a_wrong_key_of_a_specification_is_told_with_its_line(text, place, sentence, tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(SWEEP + text)
    message = refusal(capsys, "plan", tmp_path / "s.yaml")
    assert message.startswith(f"g2d2 plan: specification {tmp_path}/s.yaml, {place}: ")
    assert sentence in message


def test_nightlies_and_cluster_values_name_their_lines_too(tmp_path, capsys):
    (tmp_path / "n.yaml").write_text("name: n\noutput: o\nsweep:\n  manifest: m\n  prior: p\n  metrics: [pnsr]\n")
    message = refusal(capsys, "nightly", tmp_path / "n.yaml")
    assert f"nightly {tmp_path}/n.yaml, line 6, column 13: sweep: " in message
    (tmp_path / "v.yaml").write_text("output: s3://bucket/x\nworkers:\n  maxx: 3\n")
    message = refusal(capsys, "cluster", "render", "rayjob", "--values", tmp_path / "v.yaml")
    assert (
        f"values {tmp_path}/v.yaml, line 3, column 3: unknown setting 'workers.maxx' (did you mean 'max'?)" in message
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--task", "sr4-23"], "(did you mean 'sr4-32'?)"),
        (["--operator", "gausian_blur"], "(did you mean 'gaussian_blur'?)"),
        (["--task", "sr4-32", "--prior", "cifra10"], "'cifra10' (did you mean 'cifar10'?)"),
        (["--task", "sr4-32", "--set", "eta_lk=1"], "'eta_lk' is not a setting (did you mean 'eta_kl'?)"),
        (["--task", "sr4-32", "--experiment", "imagnet-sr4"], "(did you mean 'imagenet-sr4'?)"),
        (["--task", "sr4-32", "--set", "eta_kl=!!int x"], "'x' cannot be read as int"),
        (["--task", "sr4-32", "--set", "eta_kl=["], "it is not YAML"),
    ],
)
def test_names_and_values_on_the_command_line(words, sentence, tmp_path, capsys):
    prior = [] if "--prior" in words else ["--prior", "cifar10"]
    assert sentence in refusal(capsys, "solve", "x.png", *words, *prior, "--out", tmp_path / "out")


def test_metrics_are_refused_with_the_nearest_name(tmp_path, capsys):
    assert "(did you mean 'psnr'?)" in refusal(capsys, "eval", tmp_path, tmp_path, "--metrics", "pnsr")


def test_a_method_is_refused_with_the_nearest_name(small_manifest, tiny_prior, tmp_path, capsys):
    text = (
        f"name: x\nmanifest: {small_manifest}\nprior: {tiny_prior}\noutput: {tmp_path}/o\nsolver: {{method: weiner}}\n"
    )
    (tmp_path / "s.yaml").write_text(text)
    assert "(did you mean 'wiener'?)" in refusal(capsys, "sweep", tmp_path / "s.yaml")
