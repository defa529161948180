"""A solution shows itself as pictures: every row, its snapshots and its fault."""

import base64
import io

import torch
from PIL import Image

from g2d2 import solve
from g2d2.methods.recording import Solution
from operators import TASKS, measure


def test_what_solve_returns_shows_its_rows():
    operator = TASKS["sr4-32"].build()
    y = measure(operator, torch.zeros(2, 3, 32, 32), sigma=0.05, seeds=[0, 1])
    solution = solve(None, operator, y, method="bicubic", seeds=[0, 1])
    html = solution._repr_html_()
    assert html.count("<img") == 2
    assert "2 rows in" in html
    picture = Image.open(io.BytesIO(solution._repr_png_()))
    assert picture.size == (2 * 128 + 8, 128)


def test_snapshots_come_before_the_row_and_a_fault_is_said():
    x = torch.zeros(2, 3, 8, 8)
    x[1] = float("nan")
    solution = Solution(x, snapshots={10: torch.ones(2, 3, 8, 8), 50: torch.ones(2, 3, 8, 8)}, advice="<try> less")
    html = solution._repr_html_()
    places = [html.index(words) for words in ("row 0, t = 50", "row 0, t = 10", "row 1, t = 50")]
    assert places == sorted(places)
    assert html.count("<img") == 6
    assert "holds NaN or infinite values; &lt;try&gt; less" in html


def test_the_spread_of_samples_stands_beside_their_mean():
    spread = torch.zeros(2, 3, 8, 8)
    spread[:, :, 4:] = 0.1
    html = Solution(torch.zeros(2, 3, 8, 8), spread=spread)._repr_html_()
    assert html.count("<img") == 4
    assert html.index("row 0, spread") < html.index("row 1, spread")
    maps = [base64.b64decode(part.split('"')[0]) for part in html.split("data:image/png;base64,")[1:]][1::2]
    for content in maps:
        shown = Image.open(io.BytesIO(content)).convert("L").resize((8, 8))
        assert (shown.getpixel((1, 1)), shown.getpixel((1, 6))) == (0, 255)


def test_motions_are_drawn_without_their_padding():
    x = torch.zeros(1, 40, 263)
    x[0, :25] = 0.01
    short, whole = (Solution(part, signal="motion")._repr_png_() for part in (x[:, :25], x))
    assert short == whole
