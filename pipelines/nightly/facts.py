"""What can have changed from night to night: digests, versions, the commit, the devices."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from g2d2.methods import find_method
from pipelines.nightly.records import Reading
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.scorings import SCORING_VERSION

_SHOWN = 12


def night_facts(spec: SweepSpec, summary: Mapping[str, Any], readings: list[Reading]) -> dict[str, str]:
    """By the names people know them by."""
    facts = {
        "version": summary["version"],
        "scoring version": SCORING_VERSION,
        "commit": _commit(),
        "method": method_versions(spec),
        "precision": " ".join([spec.resources.dtype, *spec.resources.variants]),
        "prior digest": ", ".join(summary["priors"].values()),
        "manifest digest": summary["manifest_digest"],
        "devices": ", ".join(sorted({reading.device for reading in readings})),
        **summary["environment"],
    }
    return {name: str(value) for name, value in facts.items() if value}


def method_versions(spec: SweepSpec) -> str:
    """Every method of a sweep with its version: `g2d2 1, wiener 1`."""
    methods = dict.fromkeys(arm.method for arm in spec.all_arms().values())
    return ", ".join(f"{name} {find_method(name).version}" for name in methods)


def what_changed(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """One line of what differs; None where nothing known does."""
    changes = differences(before, now)
    return f"since the baseline: {', '.join(changes)}" if changes else None


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """`name old -> new` of every fact that differs."""
    return [
        f"{name} {_short(before.get(name))} -> {_short(now.get(name))}"
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]


def _short(value: str | None) -> str:
    return "unknown" if value is None else value[:_SHOWN] if len(value) > 2 * _SHOWN else value


def _commit() -> str | None:
    """The commit this code was checked out at, `+` where it was changed since; None outside a checkout."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        told = [
            subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=30, check=True)
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        ]
    except (OSError, subprocess.SubprocessError):
        return None
    return told[0].stdout.strip()[:_SHOWN] + ("+" if told[1].stdout.strip() else "")
