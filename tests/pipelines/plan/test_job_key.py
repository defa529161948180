"""A sweep as a job: the same work into the same place has the same key, even if the cluster alone can read its data."""

import pytest

from operators import InputError
from operators.validation import validate
from pipelines.plan.job_key import job_key, manifest_here, plan_id, request_digest
from pipelines.plan.sweep_spec import SweepSpec
from tests.pipelines.sweep_cases import build_manifest, specification


def sweep(manifest="m", prior="cifar10", output="o", **changes):
    return validate(SweepSpec, specification(manifest, prior, output, **changes), where="specification")


def planned(spec, elsewhere=False):
    return plan_id(spec, manifest_here(spec, elsewhere), elsewhere)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("submit"), pictures=2)


def test_the_plan_and_the_output_decide(manifest, tiny_prior):
    def key(**changes):
        spec = sweep(manifest, tiny_prior, **changes)
        return job_key(spec, planned(spec))

    assert key() == key()
    assert key().startswith("g2d2-small-")
    assert key(resources={"shard": 9}) == key(metrics=["psnr"]) == key()
    assert len({key(), key(seeds=[1]), key(output="p"), key(select={"limit": 1})}) == 4


def test_a_search_has_a_key_before_any_of_its_cells_is_known(manifest, tiny_prior):
    def key(trials):
        search = {"search": {"eta_kl": {"log": [0.001, 0.1]}}, "trials": trials, "batch": 4}
        spec = sweep(manifest, tiny_prior, grid=search, race={"confirm": 0, "round": 1})
        return job_key(spec, planned(spec))

    assert key(4) == key(4) != key(3)


def test_without_manifest_or_prior_here_the_specification_decides(manifest, tiny_prior):
    hidden = sweep("/not/mounted/here", tiny_prior)
    assert planned(hidden, elsewhere=True) is None
    assert planned(sweep(manifest, "nobody/no-such-prior")) is None

    def key(**changes):
        return job_key(sweep("/not/mounted/here", tiny_prior, **changes), None)

    assert key() == key(metrics=["psnr"]) == key(tracking={"panels": 1}) == key(keep={"floats": True})
    assert len({key(), key(seeds=[1]), key(grid={}), key(resources={"dtype": "float16"})}) == 4
    with pytest.raises(InputError, match="manifest /not/mounted/here"):
        planned(hidden)


def test_a_mistake_in_the_grid_is_found_here(manifest, tiny_prior):
    with pytest.raises(InputError, match="is not in the manifest"):
        planned(sweep(manifest, tiny_prior, select={"tasks": ["x"]}))


def test_other_metrics_of_the_same_plan_are_another_request():
    assert request_digest(sweep()) == request_digest(sweep())
    assert request_digest(sweep()) != request_digest(sweep(metrics=["psnr"]))
