"""The key of a sweep as a job: the same for the same work into the same place, so that it cannot run twice at once."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from g2d2.priors.locating import locate_prior
from operators import InputError
from pipelines.manifest import Manifest
from pipelines.plan.item_ids import fingerprint
from pipelines.plan.job_paths import names_folder
from pipelines.plan.planning import outline
from pipelines.plan.search_course import search_course
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage import StoreError

T = TypeVar("T")
_NOT_IN_A_PLAN = {
    "name", "output", "shared", "metrics", "distribution", "compare", "keep", "tracking", "resources",
}  # fmt: skip
_NAME_LETTERS = 40
_HASH_DIGITS = 12


def manifest_here(spec: SweepSpec, elsewhere: bool) -> Manifest | None:
    """The manifest, or None where it can be read on the cluster alone.

    `elsewhere`: paths are those of the cluster, so that one missing here is no mistake.
    """
    return _if_here(lambda: Manifest.open(spec.manifest), forgive=elsewhere and "://" not in spec.manifest)


def plan_id(spec: SweepSpec, manifest: Manifest | None, elsewhere: bool) -> str | None:
    """The id of the sweep's plan or search, or None where the manifest or a prior can be read on the cluster alone."""
    priors = {arm.prior for arm in spec.all_arms().values() if arm.prior is not None}
    here = [
        _if_here(partial(locate_prior, name, download=False), elsewhere or not names_folder(name)) for name in priors
    ]
    if manifest is None or None in here:
        return None
    return search_course(spec).id if spec.grid.search else outline(spec, manifest).id


def job_key(spec: SweepSpec, plan: str | None) -> str:
    """`g2d2-NAME-HASH`, of the plan and the output; without a plan, of the parts of the specification that make it."""
    if plan is None:
        versions = [[arm.method, arm.load_method().version] for arm in spec.all_arms().values()]
        parts = spec.model_dump(mode="json", exclude=_NOT_IN_A_PLAN)
        plan = fingerprint("specification", versions, parts, spec.resources.dtype)
    return f"g2d2-{spec.name[:_NAME_LETTERS]}-{fingerprint('job', plan, spec.output)[:_HASH_DIGITS]}"


def request_digest(spec: SweepSpec) -> str:
    """Of the whole specification: metrics, tracking and resources are no part of the key."""
    return fingerprint(spec.model_dump(mode="json"))


def _if_here(look: Callable[[], T], forgive: bool) -> T | None:
    try:
        return look()
    except StoreError:
        return None  # the keys may be on the cluster only
    except InputError:
        if forgive:
            return None
        raise
