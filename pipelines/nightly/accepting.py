"""Make a night the baseline that later nights are held against."""

import time

from operators import InputError
from pipelines.nightly.folder import NightlyFolder
from pipelines.nightly.nightly_spec import NightlySpec
from pipelines.nightly.records import BaselineRecord


def accept(spec: NightlySpec, reason: str, by: str, night: str | None = None) -> BaselineRecord:
    """Accept a night, the newest by default; one that is not whole is refused."""
    folder = NightlyFolder(spec.output, spec.name)
    if not reason.strip():
        raise InputError("reason: it is empty; say why these numbers are right, for whoever reads the history.")
    nights = folder.nights()
    if not nights:
        raise InputError(f"nightly {spec.name}: no night has run in {spec.output} yet; `g2d2 nightly SPEC` runs one.")
    record = nights[-1] if night is None else folder.night(night)
    if not record.complete or record.failed:
        raise InputError(
            f"night {record.night}: {record.committed} of {record.expected} work items are committed and "
            f"{record.failed} failed; only a whole night can be accepted."
        )
    if record.name != spec.name:
        raise InputError(f"night {record.night}: it is of {record.name!r}, not of {spec.name!r}.")
    return folder.add_baseline(record, " ".join(reason.split()), by, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
