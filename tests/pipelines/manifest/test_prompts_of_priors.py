"""Prompts that a prior does not take are named from the manifest alone."""

import pytest

from g2d2.priors import locate_prior
from g2d2.priors.random_unets import save_pixel
from pipelines.manifest.reading import Manifest
from pipelines.plan.readiness import _COLUMNS, _rows, misfits


@pytest.fixture
def manifest(make_table, build, tmp_path):
    build(make_table(3, prompt=["", "a cat", "2"]), prompt_column="prompt")
    return Manifest.open(str(tmp_path / "manifest"))


def test_an_unconditional_prior_takes_no_prompt(manifest, tmp_path):
    lines = list(misfits(manifest, locate_prior(save_pixel(tmp_path / "prior")).facts()))
    assert len(lines) == 2
    assert all("its prompt is of no use to a prior that is unconditional; leave prompts out" in line for line in lines)


def test_a_class_conditional_prior_takes_its_classes(manifest, tmp_path):
    facts = locate_prior(save_pixel(tmp_path / "prior", num_class_embeds=3)).facts()
    first, second = misfits(manifest, facts)
    assert "its prompt is none of the prior's 3 classes; give a number from 0 to 2" in first
    assert first != second
    kinds = [kind for _, kind in _rows(manifest.index(_COLUMNS), facts, set(manifest.tasks), [2.0])]
    assert all("cannot have guidance 2" in kind.prompt_problem for kind in kinds)
    kinds = [kind for _, kind in _rows(manifest.index(_COLUMNS), facts, set())]
    assert not any(kind.prompt_problem for kind in kinds)
