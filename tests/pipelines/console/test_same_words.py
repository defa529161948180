"""One record, many readers: labels, means, intervals and verdicts are the same on terminal, MLflow and report."""

import csv
import html
import io
import re
from types import SimpleNamespace

import pytest

from eval.record import SweepRecord, headline
from eval.record.numbers import mean_words, shown
from eval.report import Facts, Report, render_page
from eval.scores import ScoreTable
from pipelines.console.result_tables import cell_lines, contrast_lines
from pipelines.score.stored_sweep import StoredSweep
from pipelines.track.cell_run import cell_identity, cell_metrics
from pipelines.track.sweep_run import contrast_files
from tests.eval.record.score_cases import four_arms, score_table

SPEC = SimpleNamespace(compare="markov", race=None, arm_names=lambda: ["star", "markov"])
FOUR = SimpleNamespace(compare="markov", race=None, arm_names=lambda: ["star", "markov", "wiener", "bicubic"])


@pytest.fixture(scope="module", params=[four_arms, score_table])
def shown_everywhere(request):
    """Terminal, page and MLflow's rows of one sweep, each from the same record."""
    spec = SPEC if request.param is score_table else FOUR
    sweep = StoredSweep(None, spec, {}, None, ScoreTable(request.param()), "", distances={})
    record = sweep.record
    terminal = f"{cell_lines(record)}\n{contrast_lines(record)}"
    facts = Facts("same", "out", "p", len(record.scores.table), len(record.scores.table), 0, "", {})
    markup = render_page(Report(facts, record)).decode().split("<script")[0]
    entries = re.sub(r'</?b>|<span class="interval">|(?<=\])</span>', "", markup)  # a mean and its interval are one
    page = html.unescape(re.sub(r"<[^>]+>", "\n", entries))
    rows = list(csv.DictReader(io.StringIO(contrast_files(sweep)["contrasts.csv"].decode())))
    return sweep, terminal, page.splitlines(), rows


def test_every_contrast_has_the_same_cells_numbers_and_verdict(shown_everywhere):
    sweep, terminal, page, rows = shown_everywhere
    record = sweep.record
    contrasts = [*record.contrasts, *record.pointwise]
    assert len(rows) == len(contrasts) > 4
    lines = [re.split(r"  +", line) for line in terminal.splitlines()]
    for one, row in zip(contrasts, rows, strict=True):
        gap = one.result.difference
        words = [one.task, one.metric.name, one.judged_a, one.judged_b, mean_words(gap, sign=True)]
        if one in record.contrasts or len(record.pointwise) <= 12:  # else the terminal counts them
            assert any(line[:5] == words and line[-1] == one.verdict for line in lines)
        assert all(word in page for word in [*words, one.verdict])
        assert [row[name] for name in ("task", "metric", "cell_a", "cell_b", "verdict")] == [*words[:4], one.verdict]
        assert shown(float(row["difference"])) == shown(gap.mean)
        assert (int(row["pairs"]), int(row["corrected_over"])) == (one.result.pairs, one.comparisons)


def test_every_cell_has_the_same_label_means_and_intervals(shown_everywhere):
    sweep, terminal, page, _ = shown_everywhere
    lines = [re.split(r"  +", line) for line in terminal.splitlines()]
    for cell in sweep.record.cells:
        logged = cell_metrics(sweep, cell)
        for metric, mean in cell.means.items():
            assert (logged[metric], logged[f"{metric}_low"]) == (mean.mean, mean.low)
            assert any(line[:2] == [cell.task, cell.arm] and mean_words(mean) in line for line in lines)
            assert mean_words(mean) in page
        assert logged["seconds"] == cell.seconds


def test_the_headline_is_the_same(shown_everywhere):
    sweep, terminal, page, _ = shown_everywhere
    assert terminal.splitlines()[-1] == headline(sweep.record)
    assert headline(sweep.record) in page


def test_four_arms_are_told_by_arm_method_and_prior():
    spec = FOUR
    sweep = StoredSweep(None, spec, {}, None, ScoreTable(four_arms()), "", distances={})
    named = {cell.arm: cell_identity(cell) for cell in sweep.record.of_task("sr4-32")}
    assert named["star"] == {"task": "sr4-32", "arm": "star", "method": "g2d2", "prior": "cifar10-vq"}
    assert named["wiener"]["method"] == "wiener"
    assert isinstance(sweep.record, SweepRecord)
    header, first, *_ = cell_lines(sweep.record).splitlines()
    assert header.split()[:6] == ["task", "arm", "method", "prior", "eta_kl", "noise"]
    assert first.split()[:5] == ["gaussian-deblur-32", "star", "g2d2", "cifar10-vq", "0.001"]
