"""The command as a whole: every subcommand explains itself with an example that it accepts, and shells complete it."""

import argparse
import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import cli

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def parser():
    return cli.build_parser(cli.COMMANDS)


def leaves(parser, words=()):
    """Every command and subcommand that can be run, with the words that name it."""
    nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not nested:
        yield words, parser
    for action in nested:
        for name, child in action.choices.items():
            yield from leaves(child, (*words, name))


def examples(text):
    """Commands after `example:`, lines that end in a backslash joined, comments dropped."""
    block = text.split("example:", 1)[1].replace("\\\n", " ")
    lines = [line.strip() for line in block.splitlines()]
    return [shlex.split(re.split(r" [|>] | && ", line)[0], comments=True) for line in lines if line.startswith("g2d2 ")]


def test_every_command_has_an_example_that_it_accepts(parser):
    for words, child in leaves(parser):
        assert child.epilog, f"g2d2 {' '.join(words)} --help has no example"
        found = [example for example in examples(child.epilog) if example[1 : 1 + len(words)] == list(words)]
        assert found, f"g2d2 {' '.join(words)} --help has no example of it"
        for example in found:
            assert parser.parse_args(example[1:]).command == words[0]
            for word in example:
                assert not word.startswith("examples/") or (ROOT / word).exists(), f"{shlex.join(example)}: no {word}"


def test_completion_script_completes_commands_and_options(tmp_path, capsys):
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    assert cli.main(["completion", "bash"]) == 0
    script = tmp_path / "g2d2.bash"
    script.write_text(capsys.readouterr().out)
    assert complete(script, "sw") == {"sweep"}
    assert "--retry-failed" in complete(script, "sweep", "--retry")


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory):
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert cli.main(["completion", "bash"]) == 0
    script = tmp_path_factory.mktemp("completion") / "g2d2.bash"
    script.write_text(printed.getvalue())
    return script


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("solve", "x.png", "--task", "sr4-3"), {"sr4-32"}),
        (("solve", "x.png", "--operator", "gauss"), {"gaussian_blur"}),
        (("solve", "x.png", "--prior", "cifar10-p"), {"cifar10-pixel"}),
        (("solve", "x.png", "--preset", "tu"), {"tuned"}),
        (("manifest", "build", "a", "b", "--task", "sr4-32", "gaussian-deblur-3"), {"gaussian-deblur-32"}),
        (("prior", "info", "it"), {"ithq"}),
        (("score", "out", "--metrics", "psnr", "lpips_v"), {"lpips_vgg"}),
        (("eval", "a", "b", "--metrics", "fi"), {"fid"}),
        (("compare", "a", "b", "--tolerance", "ps"), {"psnr=", "psnr_8bit="}),
    ],
)
def test_completion_offers_the_names_of_tasks_operators_priors_and_metrics(words, offered, bash_script):
    assert complete(bash_script, *words) == offered


@pytest.mark.parametrize("command", ["solve", "measure"])
def test_help_has_tasks_and_noise_of_motions_too(command, capsys):
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "of motions path-1, path-2, path-5, path-25pct, path-all" in told
    assert "or 0.05); of motions in metres (default: 0)" in told


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_get_the_names_too(shell, capsys):
    assert cli.main(["completion", shell]) == 0
    assert "gaussian-deblur-256" in capsys.readouterr().out


def test_help_writes_names_as_people_do(capsys):
    for command, name in (("services", "S3 store, PostgreSQL, MLflow and Ray"), ("cluster", "AWS, GCP and KubeRay")):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert name in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("words", "near"), [(["swep"], "sweep"), (["solve", "x.png", "--dtype", "flot16"], "float16")])
def test_a_word_that_is_no_choice_is_refused_with_the_nearest(words, near, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(words)
    assert f"'{words[-1]}' is unknown (did you mean '{near}'?); choose one of" in capsys.readouterr().err


def complete(script, *words):
    """What bash offers for the last word."""
    line = " ".join(["g2d2", *words])
    code = f"""
        source {script}
        COMP_WORDS=(g2d2 {" ".join(words)}); COMP_CWORD={len(words)}; COMP_LINE={line!r}; COMP_POINT={len(line)}
        function_name=$(complete -p g2d2 | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        $function_name
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_results_that_do_not_fit_on_the_disk_are_one_sentence():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pipelines.cli", "completion", "bash"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            timeout=120,
        )
    assert (done.returncode, done.stderr) == (2, "g2d2 completion: No space left on device: the system refused.\n")
