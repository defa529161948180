"""A nightly evaluation: which sweep, held against what, and how much worse it may become."""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from eval.gate import Tolerance, default_tolerances, parse_tolerances
from eval.gate.tolerances import checked_tolerance
from eval.metrics import default_metrics
from eval.scores import ScoreTable
from operators import InputError
from operators.plain_yaml import Document, read_yaml
from operators.store_urls import parse_url
from operators.validation import did_you_mean, validate
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.sweep_spec import SweepSpec, load_spec

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECIDED_HERE = ("name", "output")


def _share(value: Any) -> Any:
    """`25%` as 0.25."""
    if isinstance(value, str) and value.endswith("%"):
        try:
            return float(value[:-1]) / 100
        except ValueError:
            return value
    return value


Share = Annotated[float, BeforeValidator(_share), Field(gt=0)]


class NightlySpec(BaseModel):
    """One YAML file; every night solves its sweep afresh, in a folder of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    name: str
    """Of the evaluation and of its baseline: letters, digits, dot, dash, underscore."""
    output: str
    """Folder or s3:// URL of nights, history and baselines."""
    sweep: str | dict[str, Any]
    """What a night runs: a sweep's specification without `name` and `output`, or the path of one, whose own are left
    aside."""
    tolerances: dict[str, float | str | dict[str, Any]] | None = None
    """Metrics that are judged and the loss each may have: `psnr: 0.1`, `lpips_vgg: 2%`; those of `g2d2 compare` by
    default. A metric without a known direction: `{direction: lower, relative: 0.05}`."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """That a night without a change reports none."""
    speed: Share | None = 0.25
    """Tolerated loss of speed, as `25%`; null, and everywhere on CPUs: watched, not judged."""
    memory: Share | None = 0.1
    """Tolerated growth of peak device memory, as `10%`; null, and everywhere on CPUs: watched, not judged."""
    nights: int = Field(default=30, ge=2)
    """Nights in the trend."""
    keep_nights: int = Field(default=14, ge=1)
    """Nights whose reconstructions are kept; scores and verdicts always are, and so is the accepted night."""
    webhook: str | None = None
    """Name of the environment variable that holds a URL to post a summary to; the URL itself is a secret."""

    @field_validator("webhook")
    @classmethod
    def _variable(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            raise ValueError("it must be the name of an environment variable")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if isinstance(self.sweep, dict):
            given = [key for key in _DECIDED_HERE if key in self.sweep]
            if given:
                raise ValueError(f"sweep.{given[0]} is decided here; leave it out")
        if self.tolerances is not None and not self.tolerances:
            raise ValueError("tolerances name no metric; leave them out for the defaults")
        self._parsed()
        return self

    def sweep_spec(self, night: str, document: Document | None = None) -> SweepSpec:
        """The sweep of one night; a sentence about it names its line in the document, where one is given."""
        own = {"name": f"{self.name}-{night}", "output": f"{self.output.rstrip('/')}/nights/{night}"}
        if isinstance(self.sweep, str):
            values = load_spec(self.sweep).model_dump(mode="json") | own
        else:
            values = self.sweep | own
        place = None if document is None else lambda keys: f"{document.at(['sweep', *keys])}: sweep"
        spec = validate(SweepSpec, values, where="sweep", place=place)
        return spec.model_copy(update={"tracking": spec.tracking.model_copy(update={"uri": self._tracking_uri(spec)})})

    def gate(self, accepted: ScoreTable) -> dict[str, Tolerance]:
        """Tolerances for those of the baseline's metrics that are judged."""
        if self.tolerances is None:
            return default_tolerances(accepted.metrics, self.confidence, accepted.info)
        return {metric: tolerance for metric, tolerance in self._parsed().items() if metric in accepted.metrics}

    def judged(self) -> list[str] | None:
        """Metrics named here; None: the defaults."""
        return None if self.tolerances is None else list(self.tolerances)

    def _parsed(self) -> dict[str, Tolerance]:
        found: dict[str, Tolerance] = {}
        for metric, value in (self.tolerances or {}).items():
            if isinstance(value, dict):
                found[metric] = checked_tolerance({"confidence": self.confidence} | value, metric)
            else:
                found |= parse_tolerances([f"{metric}={value}"], self.confidence)
        return found

    def _tracking_uri(self, spec: SweepSpec) -> str | None:
        """One database for all nights, outside their folders, where nothing else is named."""
        location = parse_url(self.output)
        if spec.tracking.uri or os.environ.get("MLFLOW_TRACKING_URI") or location.bucket is not None:
            return spec.tracking.uri
        return f"sqlite:///{location.path}/mlflow.db"


def load_nightly(path: Path | str) -> NightlySpec:
    """Read and check a YAML file, its sweep included; relative paths in it are taken from the working directory."""
    document = read_yaml(path, "nightly")
    content = document.content
    if isinstance(content, dict) and "://" in str(content.get("webhook")):
        raise InputError(
            f"{document.at(['webhook'])}: webhook holds a URL, which is a secret: put it into an environment variable "
            "and name that here."
        )
    spec: NightlySpec = document.validate(NightlySpec)
    sweep = spec.sweep_spec("night", document)
    if sweep.race is not None:
        raise InputError(
            f"{document.at(['sweep', 'race'])}: sweep.race: nights are compared on all their measurements, and a race "
            "leaves some out; race elsewhere, and give the winner to the night."
        )
    measured = _measured(sweep) if spec.judged() else []
    unknown = [metric for metric in spec.judged() or () if metric not in measured]
    if unknown:
        near = did_you_mean(unknown[0], measured)
        raise InputError(
            f"{document.at(['tolerances', unknown[0]])}: tolerances name {', '.join(unknown)}{near}, which the sweep "
            f"does not measure; it measures {', '.join(measured)}."
        )
    return spec


def _measured(sweep: SweepSpec) -> list[str]:
    """The metrics of a night; of a manifest that cannot be read here, those of any signal."""
    try:
        return chosen_metrics(sweep)
    except InputError:
        return [*default_metrics("image"), *default_metrics("motion")]
