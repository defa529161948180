"""Known priors: what the catalog promises, and how names become folders."""

import subprocess
import sys
from dataclasses import replace

import pytest

from g2d2.priors import TINY, catalog, load_prior
from g2d2.priors.catalog import CATALOG, Home
from g2d2.priors.families import FAMILIES
from g2d2.priors.locating import locate_prior
from g2d2.priors.vq_diffusion.random_weights import random_components
from operators import InputError


def test_every_entry_is_complete():
    assert {"cifar10", "ithq", "cvqdiff-ffhq"} <= CATALOG.keys()
    for name, known in CATALOG.items():
        assert known.name == name
        assert known.family in FAMILIES.names()
        assert known.licence
        assert known.citation
        assert known.digest or known.digest_reason
        assert known.token_side is None or known.image_size % known.token_side == 0
        assert known.latents is None or known.image_size % known.latents[0] == 0
        assert all(file.size > 0 for file in known.files)


def test_ithq_agrees_with_the_shape_used_for_speed():
    from g2d2.priors import ITHQ

    known = CATALOG["ithq"]
    assert (known.codes, known.token_side) == (ITHQ.codes, ITHQ.token_side)


def test_a_packaged_prior_loads_by_name_or_says_it_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(catalog, "EMBEDDED", tmp_path)
    with pytest.raises(InputError, match="'cifar10' is not installed: the package has no folder"):
        load_prior("cifar10")
    random_components(TINY).save(tmp_path / "cifar10-vq")
    assert load_prior("cifar10").num_tokens == 16


def test_a_prior_that_needs_conversion_says_how():
    with pytest.raises(InputError, match="convert them with `g2d2 prior convert`") as error:
        load_prior("cvqdiff-ffhq")
    assert "\n" not in str(error.value)


def test_a_hub_prior_is_asked_for_at_its_revision(tmp_path, monkeypatch):
    asked = {}
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download", lambda repository, **options: asked.update(options) or str(tmp_path)
    )
    located = locate_prior("ithq")
    assert located.folder == tmp_path
    assert located.family.name == "vq_diffusion"
    assert asked["revision"] == CATALOG["ithq"].revision
    assert "*.fp16.*" in asked["ignore_patterns"]


def test_offline_mode_is_honoured_and_told(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="offline mode is on") as error:
        load_prior("ithq")
    assert "\n" not in str(error.value)


def test_homes_decide_where_a_prior_is_looked_for(tmp_path, monkeypatch):
    known = replace(CATALOG["ithq"], home=Home.HUB)
    assert known.folder is None
    monkeypatch.setattr(catalog, "EMBEDDED", tmp_path)
    assert CATALOG["cifar10"].folder is None
    (tmp_path / "cifar10-vq").mkdir()
    assert CATALOG["cifar10"].folder == tmp_path / "cifar10-vq"


def test_the_catalog_loads_no_model_library():
    code = (
        "import sys, g2d2.priors.catalog, g2d2.priors.vq_diffusion.family\n"
        "print([m for m in ('diffusers', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
