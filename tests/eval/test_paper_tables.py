"""The paper's numbers, five of them read from its tables by eye."""

import pytest

from eval.paper import CITATION, paper_results
from operators import InputError


@pytest.mark.parametrize(
    ("dataset", "task", "method", "metric", "printed"),
    [
        ("imagenet", "sr4", "G2D2", "psnr", 23.82),
        ("imagenet", "sr4", "G2D2-Markov", "kid_x100", 2.40),
        ("imagenet", "gaussian-deblur", "ReSample", "fid", 82.57),
        ("ffhq", "gaussian-deblur", "DDRM", "ssim", 0.863),
        ("ffhq", "gaussian-deblur", "G2D2", "lpips", 0.280),
    ],
)
def test_values_are_the_printed_ones(dataset, task, method, metric, printed):
    (found,) = paper_results(dataset, task, method, metric)
    assert found.value == printed


def test_the_tables_are_complete():
    rows = paper_results()
    assert len(rows) == len({(r.dataset, r.task, r.method, r.metric) for r in rows}) == 2 * 2 * 6 * 5
    assert len(paper_results(dataset="ffhq", metric="psnr")) == 12
    assert {r.method for r in rows} == {"DPS", "DDRM", "PSLD", "ReSample", "G2D2", "G2D2-Markov"}
    assert "Murata" in CITATION


def test_star_beats_markov_in_every_table():
    better = {"psnr": 1, "ssim": 1, "lpips": -1, "fid": -1, "kid_x100": -1}
    star = {(r.dataset, r.task, r.metric): r.value for r in paper_results(method="G2D2")}
    markov = {(r.dataset, r.task, r.metric): r.value for r in paper_results(method="G2D2-Markov")}
    assert all(better[key[2]] * (star[key] - markov[key]) > 0 for key in star)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(
        InputError, match="task: 'inpainting' is not in the paper's tables; known are sr4, gaussian-deblur"
    ):
        paper_results(task="inpainting")
