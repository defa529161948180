"""How often a sweep's driver asks its store: a bucket answers slowly, and every question costs money."""

from collections import Counter

import pytest

from operators.validation import validate
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage.local import LocalStore
from pipelines.sweep import run_sweep
from tests.pipelines.sweep_cases import specification

pytestmark = pytest.mark.usefixtures("local_ray")


@pytest.fixture
def asked(monkeypatch):
    """Counts of what this process asks; workers are others, and ask for themselves."""
    counts = Counter()

    def counting(name):
        real = getattr(LocalStore, name)

        def ask(self, place="", *rest):
            counts[name, place if name == "list" else place.partition("/")[0]] += 1
            return real(self, place, *rest)

        monkeypatch.setattr(LocalStore, name, ask)

    for name in ("list", "open_source"):
        counting(name)
    return counts


def test_the_plan_is_read_once_and_each_folder_listed_once(asked, small_manifest, tiny_prior, tmp_path):
    values = specification(small_manifest, tiny_prior, tmp_path / "o", distribution=["fd_vgg16"], metrics=["psnr"])
    spec = validate(SweepSpec, values, where="specification")
    for plan_parts in (1, 2):  # the work items, and on resuming the cells' file beside them
        asked.clear()
        assert run_sweep(spec).counts.complete
        listed = {place: count for (name, place), count in asked.items() if name == "list"}
        assert listed
        assert set(listed.values()) == {1}, listed
        assert asked["open_source", "plan"] <= plan_parts, asked
