"""Nightly: the same sweep every night, solved afresh, held against an accepted baseline, and told to people."""

from pipelines.nightly.accepting import accept
from pipelines.nightly.choosing import choose_night
from pipelines.nightly.folder import NightlyFolder
from pipelines.nightly.night import Night, night_today, run_night
from pipelines.nightly.nightly_spec import NightlySpec, load_nightly
from pipelines.nightly.records import BaselineRecord, NightRecord

__all__ = [
    "BaselineRecord",
    "Night",
    "NightRecord",
    "NightlyFolder",
    "NightlySpec",
    "accept",
    "choose_night",
    "load_nightly",
    "night_today",
    "run_night",
]
