"""Arms: sides of a comparison in one specification, over the same measurements."""

import shutil
from itertools import pairwise

import pytest

from operators import InputError
from operators.validation import validate
from pipelines.plan.planning import make_plan, outline
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import specification

QUICK = {"steps": 4, "iterations": 3, "guidance": 1}


def arms(manifest, prior, output, **changes):
    """Star and Markov on one prior, Wiener and bicubic on none."""
    values = specification(manifest, prior, output)
    del values["solver"], values["grid"]
    sides = {
        "star": {"settings": QUICK, "grid": {"cross": {"eta_kl": [0.001, 0.1]}}},
        "markov": {"settings": QUICK | {"process": "markov"}},
        "wiener": {"method": "wiener", "grid": {"cross": {"noise_to_signal": [0.01, 0.1]}}},
        "bicubic": {"method": "bicubic"},
    }
    return values | {"arms": sides, "compare": "star"} | changes


def read(values):
    return validate(SweepSpec, values, where="specification")


def plan_of(values):
    spec = read(values)
    return make_plan(spec, SweepFolder(spec.output))


def test_cells_carry_arm_method_and_prior(small_manifest, tiny_prior, tmp_path):
    plan = plan_of(arms(small_manifest, tiny_prior, tmp_path / "o"))
    assert [(cell.arm, cell.method, cell.prior) for cell in plan.cells] == [
        ("star", "g2d2", str(tiny_prior)),
        ("star", "g2d2", str(tiny_prior)),
        ("markov", "g2d2", str(tiny_prior)),
        ("wiener", "wiener", ""),
        ("wiener", "wiener", ""),
        ("bicubic", "bicubic", ""),
    ]
    assert plan.cells[3].settings == {"noise_to_signal": 0.01}
    assert list(plan.priors) == [str(tiny_prior)]


def test_the_short_form_is_an_arm_for_each_process(small_manifest, tiny_prior, tmp_path):
    spec = read(specification(small_manifest, tiny_prior, tmp_path / "o"))
    assert spec.arm_names() == ["star", "markov"]
    assert {cell.arm for cell in plan_of(spec).cells} == {"star", "markov"}


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"compare": "eta_kl"}, ["0.001", "0.1"]),
        ({"compare": "markov"}, ["star", "markov"]),
        ({"grid": {"cross": {"eta_kl": [0.001, 0.1]}}}, ["g2d2"]),
    ],
)
def test_compare_says_what_the_arms_of_a_short_form_are(changes, names, small_manifest, tiny_prior, tmp_path):
    spec = read(specification(small_manifest, tiny_prior, tmp_path / "o", **changes))
    assert spec.arm_names() == names
    assert list(dict.fromkeys(cell.arm for cell in plan_of(spec).cells)) == names


def test_a_written_out_arm_is_the_same_work_as_the_short_form(small_manifest, tiny_prior, tmp_path):
    """Nothing is solved again by a specification that says the same in other words."""
    short = plan_of(specification(small_manifest, tiny_prior, tmp_path / "o"))
    values = specification(small_manifest, tiny_prior, tmp_path / "o")
    del values["solver"]
    grid = {"cross": {"eta_kl": values.pop("grid")["cross"]["eta_kl"]}}
    sides = {name: {"settings": QUICK | {"process": name}, "grid": grid} for name in ("star", "markov")}
    long = plan_of(values | {"arms": sides})
    assert set(long.rows.ids.to_pylist()) == set(short.rows.ids.to_pylist())
    assert {cell.id for cell in long.cells} == {cell.id for cell in short.cells}


def test_an_arm_that_is_added_is_planned_alone(small_manifest, tiny_prior, tmp_path):
    values = arms(small_manifest, tiny_prior, tmp_path / "o")
    bicubic = values["arms"].pop("bicubic")
    before = plan_of(values)
    values["arms"]["bicubic"] = bicubic
    after = plan_of(values)
    new = set(after.rows.ids.to_pylist()) - set(before.rows.ids.to_pylist())
    assert len(new) == 6
    assert set(before.rows.ids.to_pylist()) < set(after.rows.ids.to_pylist())


def test_the_version_of_a_method_is_part_of_an_items_id(small_manifest, tiny_prior, tmp_path, monkeypatch):
    values = arms(small_manifest, tiny_prior, tmp_path / "o")
    first = outline_recipes(values)
    monkeypatch.setattr("g2d2.methods.wiener.Wiener.version", 2)
    second = outline_recipes(values)
    assert [a != b for a, b in zip(first, second, strict=True)] == [False, False, False, True, True, False]


def outline_recipes(values):
    from pipelines.manifest import Manifest

    spec = read(values)
    return [cell.recipe for cell in outline(spec, Manifest.open(spec.manifest)).cells]


def test_work_is_ordered_by_prior(small_manifest, tiny_prior, tmp_path):
    """Each prior's shards lie together, whatever the order of the arms."""
    twin = shutil.copytree(tiny_prior, tmp_path / "twin")
    values = arms(small_manifest, tiny_prior, tmp_path / "o")
    values["arms"] |= {"twin": {"prior": str(twin), "settings": QUICK}, "last": {"settings": QUICK | {"gamma": 0.9}}}
    plan = plan_of(values)
    prior = {cell.id: cell.prior for cell in plan.cells}
    order = [prior[cell] for cell in plan.rows.table["cell"].to_pylist()]
    changes = sum(a != b for a, b in pairwise(order))
    assert changes == len(set(order)) - 1 == 2


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"arms": {"a": {"method": "weiner"}}}, "did you mean 'wiener'?"),
        ({"arms": {"a": {"method": "wiener", "settings": {"eta_kl": 1}}}}, "'eta_kl' is not a setting of wiener"),
        ({"arms": {"a": {"method": "wiener", "grid": {"cross": {"noise_to_signel": [1]}}}}}, "'noise_to_signal'?"),
        ({"arms": {"a": {"preset": "papr"}}}, "did you mean 'paper'?"),
        ({"arms": {"a": {"method": "wiener", "experiment": "imagenet-sr4"}}}, "method 'wiener' has no experiments"),
        ({"arms": {"a": {}}, "compare": "b"}, "'b' is neither an arm nor a setting that a grid varies"),
        ({"arms": {"a": {}}, "grid": {"cross": {"gamma": [0.1]}}}, "solver and grid stand in each arm"),
        ({"arms": {"a b": {}}}, "a name is letters"),
        ({"arms": {"a": {}}, "prior": None}, "prior is missing: method 'g2d2' needs one"),
        ({"arms": {"a": {"prior": "s3://key:secret@host/p"}}}, "it holds a password"),
        ({"arms": {"a": {"settings": QUICK}, "b": {"settings": QUICK}}}, "are the same settings; name each once"),
    ],
)
def test_what_is_wrong_with_an_arm_is_one_sentence(changes, sentence, small_manifest, tiny_prior, tmp_path):
    with pytest.raises(InputError) as refused:
        plan_of(arms(small_manifest, tiny_prior, tmp_path / "o") | {"compare": None} | changes)
    assert sentence in str(refused.value)
    assert "secret" not in str(refused.value)
