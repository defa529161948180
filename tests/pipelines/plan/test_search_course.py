"""Which batch of a search meets which measurements, and that cells chosen by earlier luck cannot beat the best one."""

import math

import numpy as np
import pytest

from eval.racing import Margin, RaceRules, standing
from operators import InputError
from operators.validation import validate
from pipelines.plan.search_blocks import cut_blocks
from pipelines.plan.search_course import search_course
from pipelines.plan.sweep_spec import SweepSpec
from tests.pipelines.sweep_cases import build_manifest, run

SEARCH = {"search": {"noise_to_signal": {"log": [0.0001, 100]}}, "trials": 10, "batch": 4}


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("search"), pictures=40)


def spec(manifest, **changes):
    values = {
        "name": "search",
        "manifest": manifest,
        "output": "nowhere",
        "solver": {"method": "wiener"},
        "grid": SEARCH,
        "race": {"confirm": 10, "round": 2},
        "metrics": ["psnr"],
    }
    return validate(SweepSpec, values | changes, where="specification")


def test_blocks_share_nothing_and_leave_nothing_out():
    order = [f"d{number}" for number in range(37)]
    blocks = cut_blocks(order, 30, 4)
    assert [len(block) for block in blocks] == [7, 8, 7, 15]
    assert [digest for block in blocks for digest in block] == order


def test_batches_race_on_their_own_measurements_at_a_share_of_alpha_and_the_last_confirms(manifest):
    course = search_course(spec(manifest))
    assert course.sizes == [4, 4, 2]
    assert [course.raced(number) for number in range(3)] == [10, 10, 10]
    assert [len(block) for block in course.blocks] == [10, 10, 20]
    batches = [course.batch_spec(number, [{"noise_to_signal": 0.1}]) for number in range(3)]
    assert [one.race.confirm for one in batches] == [0, 0, 10]
    assert sum(one.race.alpha for one in batches) == pytest.approx(0.05)
    assert [list(one.grid) for one in batches] == [[{"noise_to_signal": 0.1}]] * 3
    rest = search_course(spec(manifest, race={"confirm": "rest", "round": 2}))
    assert [rest.batch_spec(number, [{}]).race.confirm for number in range(3)] == [0, 0, "rest"]


def test_the_cost_lies_between_all_leaving_at_once_and_nobody_ever(manifest):
    assert search_course(spec(manifest)).cost() == (2 * (4 + 5 + 3) + 10, 10 * (4 + 8 + 10) + 10)
    assert search_course(spec(manifest, seeds=[0, 1])).cost() == (2 * 34, 2 * 230)
    rest = search_course(spec(manifest, race={"confirm": "rest", "round": 2}))
    assert rest.cost() == (2 * (4 + 5 + 3) + 14 - 2, 13 * 4 + 13 * 8 + 14 * 10)


def test_what_decides_proposals_or_scores_makes_another_search(manifest):
    changes = [
        {"race": {"confirm": 10, "round": 2, "seed": 1}},
        {"race": {"confirm": 8, "round": 2}},
        {"grid": SEARCH | {"trials": 9}},
        {"grid": SEARCH | {"batch": 5}},
        {"grid": SEARCH | {"search": {"noise_to_signal": {"log": [0.0001, 10]}}}},
        {"seeds": [1]},
        {"select": {"limit": 39}},
    ]
    ids = [search_course(spec(manifest, **change)).id for change in [{}, *changes]]
    assert len(set(ids)) == len(ids)
    assert search_course(spec(manifest, name="other", output="elsewhere")).id == ids[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"race": None}, "grid.search: its batches race, and there is no race; add `race: safe`"),
        ({"race": {"budget": 0.1}}, "race.budget is 0.1: a search needs a safe race, without it"),
        ({"race": {"among": "arm"}}, "race.among is 'arm': a search has one race and needs 'task'"),
        ({"compare": "noise_to_signal"}, "is neither an arm nor a setting that a grid varies"),
        ({"grid": SEARCH | {"search": {"noise": {"range": [0, 1]}}}}, "'noise' is not a setting of wiener"),
        (
            {"solver": {}, "grid": {}, "arms": {"a": {"method": "wiener", "grid": SEARCH}}},
            "a search stands in the short form's `grid`, without `arms`",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused_in_a_sentence(manifest, changes, message):
    with pytest.raises(InputError) as refused:
        spec(manifest, **changes)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": SEARCH | {"trials": 40, "batch": 2}}, "grid.trials: 40 in batches of 2 take 20 x 2 measurements"),
        ({"race": {"confirm": 40}}, "and 0 measurements may be raced on"),
        ({"grid": SEARCH | {"search": {"noise_to_signal": {"range": [-1, 1]}}}}, "noise_to_signal is -1"),
    ],
)
def test_too_few_measurements_and_impossible_ends_are_refused_before_anything_runs(manifest, changes, message):
    with pytest.raises(InputError) as refused:
        search_course(spec(manifest, **changes))
    assert message in str(refused.value)


def test_several_tasks_are_refused(tmp_path):
    url = tmp_path / "manifest"
    assert run("manifest", "build", "cifar10-heldout", url, "--task", "sr4-32", "gaussian-deblur-32", "--limit", 8) == 0
    one = spec(str(url), race={"confirm": 0, "round": 2}, select={"tasks": ["sr4-32"]})
    assert search_course(one).sizes == [4, 4, 2]
    with pytest.raises(InputError, match="one task, and there are gaussian-deblur-32, sr4-32; name one of them"):
        search_course(spec(str(url), race={"confirm": 0, "round": 2}))


BATCHES, PER_BATCH, BLOCK, ALPHA = 3, 5, 40, 0.3
DRAWS = {
    "normal": lambda random, shape: random.normal(size=shape),
    "skewed": lambda random, shape: random.exponential(size=shape) - 1,
    "heavy tails": lambda random, shape: np.clip(random.standard_t(2.5, size=shape), -6, 6),
    "ties": lambda random, shape: np.round(random.normal(size=shape)),
}


def best_is_lost(random, draw, own_blocks):
    """A search that proposes those of 5000 cells which were luckiest on all measurements so far.

    All are just more than delta worse than the best, which is there from the first batch on; all noise is theirs.
    """
    merits = draw(random, (5001, BATCHES * BLOCK)) - 0.051
    merits[0] = 0.0
    inside = [0]
    for number, block in enumerate(cut_blocks(list(range(BATCHES * BLOCK)), BATCHES * BLOCK, BATCHES)):
        block = block if own_blocks else range(BLOCK)
        luck = merits[1:, : max(1, number) * BLOCK if own_blocks else BLOCK].mean(1) if number else random.random(5000)
        new = [cell for cell in (1 + np.argsort(-luck)).tolist() if cell not in inside][:PER_BATCH]
        cells = [*inside, *new]
        rules = RaceRules({"psnr": Margin(0.05, 2.0)}, (8, 16, 24, 32, 40), ALPHA / BATCHES)
        part = merits[np.ix_(cells, list(block))]
        over = standing([str(cell) for cell in cells], {"psnr": part}, np.ones(part.shape, bool), rules)
        inside = [int(name) for name in over.inside]
        if 0 not in inside:
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", DRAWS)
def test_cells_that_were_chosen_by_earlier_luck_take_the_best_ones_place_as_seldom_as_promised(kind):
    random = np.random.default_rng(17)
    searches = 200
    lost = sum(best_is_lost(random, DRAWS[kind], own_blocks=True) for _ in range(searches)) / searches
    assert lost <= ALPHA + 3 * math.sqrt(ALPHA / searches)


@pytest.mark.slow
def test_on_the_measurements_that_chose_them_they_would_take_it_often():
    """What the blocks are for: the same searches, all batches on the same measurements."""
    random = np.random.default_rng(17)
    lost = sum(best_is_lost(random, DRAWS["normal"], own_blocks=False) for _ in range(100)) / 100
    assert lost > 2 * ALPHA
