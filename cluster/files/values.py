"""The values that cluster files are made from, typed and checked; `cluster/values.yaml` is a set to start from."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from cluster.files.machines import Gpu
from operators import InputError
from operators.plain_yaml import read_yaml
from operators.store_urls import parse_url
from operators.validation import validate

Plain = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
"""A word that means the same in YAML, in a shell and in a URL."""
Label = Annotated[str, StringConstraints(pattern=r"^[a-z]([a-z0-9-]*[a-z0-9])?$", max_length=40)]
"""What Kubernetes, EC2 and Compute Engine all accept as a name; they add to it, hence its length."""
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$", max_length=100)]
Image = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$", max_length=250)]
LocalPath = Annotated[str, StringConstraints(pattern=r"^[~/A-Za-z0-9][A-Za-z0-9._~/ -]*$", max_length=250)]
_WEB = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?")
_CRON = re.compile(r"(@(yearly|monthly|weekly|daily|hourly))|[0-9*/,-]+( [0-9A-Za-z*/,-]+){4}")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Workers(_Model):
    """How many machines with GPUs."""

    min: int = Field(default=1, ge=0)
    """Always there while the cluster is up; 0 is for specifications with `resources.wait_for_gpus`."""
    max: int = Field(default=4, ge=1)
    """The autoscaler's limit."""
    gpus: int = Field(default=1, ge=1, le=8)
    """GPUs of one machine."""
    spot: bool = True
    """Cheaper machines that may be taken away: what they had not committed is solved again (aws, gcp)."""
    idle_minutes: int = Field(default=10, ge=1)
    """A machine without work is given back after this."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min is {self.min} and max {self.max}; min may not be above max")
        return self


class Aws(_Model):
    """What only `render aws` needs."""

    region: Plain = "us-west-2"
    """Where the machines are; the bucket should be there too."""
    zones: list[Plain] = []
    """Availability zones to try, in this order; all of the default network when left out."""
    ami: Annotated[str, StringConstraints(pattern=r"^ami-[0-9a-f]+$")] | None = None
    """Machine image with an NVIDIA driver and Docker, in this region."""
    security_groups: list[Annotated[str, StringConstraints(pattern=r"^sg-[0-9a-f]+$")]] = []
    """Ids of your own; when left out Ray makes one that lets SSH in from everywhere, with a key."""
    worker_profile: Plain = "g2d2-worker"
    """Instance profile of workers: it needs the bucket and nothing else."""
    head_profile: Plain = "g2d2-head"
    """Instance profile of the head: the bucket, and starting and ending workers."""
    head_type: Plain = "m6i.xlarge"
    """Instance type of the head."""


class Gcp(_Model):
    """What only `render gcp` needs."""

    project: Plain | None = None
    """Project id."""
    region: Plain = "us-central1"
    """Where the machines are."""
    zone: Plain = "us-central1-a"
    """One with the GPU."""
    source_image: Annotated[str, StringConstraints(pattern=r"^projects/[a-z0-9/._-]+$")] = (
        "projects/deeplearning-platform-release/global/images/family/common-cu129-ubuntu-2404-nvidia-580"
    )
    """Machine image with an NVIDIA driver and Docker."""
    worker_account: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+@[a-z0-9.-]+$")] | None = None
    """Service account of workers; without one they have no rights in the project."""
    head_type: Plain = "n2-standard-4"
    """Machine type of the head."""


class Kubernetes(_Model):
    """What only `render rayjob` and `render raycronjob` need."""

    namespace: Label = "default"
    """Where the job runs."""
    specification: Label = "g2d2-specification"
    """ConfigMap whose key `spec.yaml` is what to run."""
    service_account: Label | None = None
    """Service account of all pods; on a cloud it may stand for a role that opens the bucket."""
    secrets: dict[Variable, Label] = {}
    """Variables that pods take from secrets: name of the variable, which is the key too, and name of the secret."""
    node_selector: dict[str, str] = {}
    """Labels of the nodes that have the GPU."""
    cpus: int = Field(default=4, ge=1)
    """Cores of the head and of each worker."""
    memory_gib: int = Field(default=16, ge=4)
    """Memory of the head and of each worker."""
    deadline_hours: float = Field(default=12, gt=0, le=720)
    """A job that takes longer is ended; running it again goes on."""
    retries: int = Field(default=1, ge=0)
    """New clusters after a sweep's failure. Each goes on where the last one ended, because results are in the bucket.
    The nightly job has none."""
    keep_minutes: int = Field(default=60, ge=0)
    """How long a finished job can be looked at."""
    schedule: str = "0 2 * * *"
    """When the nightly job starts, as cron writes it."""
    time_zone: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_+/-]+$")] = "Etc/UTC"
    """Of the schedule."""

    @field_validator("schedule")
    @classmethod
    def _cron(cls, value: str) -> str:
        if not _CRON.fullmatch(value):
            raise ValueError("it must be five fields of cron, such as '0 2 * * *', or @daily")
        return value


class ClusterValues(_Model):
    """Everything a cluster file is made from. There is no place for a secret: they are named, never written."""

    name: Label = "g2d2"
    """Of the cluster and its jobs."""
    image: Image
    """Container image built from `cluster/Containerfile`, as your registry names it."""
    gpu: Gpu = "L4"
    """GPU of the workers (aws, gcp; on Kubernetes the node selector chooses)."""
    output: str
    """`s3://bucket/prefix` below which specifications put results and manifests: all that roles open."""
    endpoint: str | None = None
    """Address of an S3 store that is not Amazon's."""
    store_region: Plain | None = None
    """Region of the bucket, where Amazon has it; on EC2 the machines' own when left out."""
    credentials: LocalPath | None = None
    """AWS credentials file on your machine that is copied to the nodes, where no role opens the bucket (aws, gcp)."""
    tracking: str | None = None
    """Address of an MLflow server the cluster can reach; without one nothing is logged while it runs."""
    workers: Workers = Workers()
    """Machines with GPUs."""
    disk_gb: int = Field(default=150, ge=60)
    """Disk of every machine: the image, weights, what Ray spills."""
    aws: Aws = Aws()
    """Amazon."""
    gcp: Gcp = Gcp()
    """Google."""
    kubernetes: Kubernetes = Kubernetes()
    """KubeRay."""

    @field_validator("output")
    @classmethod
    def _bucket(cls, value: str) -> str:
        if parse_url(value).bucket is None:
            raise ValueError("it must be s3://bucket/prefix: a cluster's disks end with the cluster")
        return value.rstrip("/")

    @field_validator("endpoint", "tracking")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and "@" in value:
            raise ValueError("it holds credentials; give the address alone and the password in a secret")
        if value is not None and not _WEB.fullmatch(value):
            raise ValueError("it must be http(s)://host:port")
        return value

    def environment(self) -> dict[str, str]:
        """Variables of every node. None of them is a secret."""
        region = self.store_region
        store = {"AWS_REGION": region, "AWS_ENDPOINT_URL": self.endpoint, "MLFLOW_TRACKING_URI": self.tracking}
        return {"RAY_AUTH_MODE": "token"} | {name: value for name, value in store.items() if value}


def load_values(path: Path | str, changes: Mapping[str, Any] | None = None) -> ClusterValues:
    """Values from a YAML file, with single ones changed by their dotted names, as `workers.max`."""
    document = read_yaml(path, "values", missing="there is no such file; start from cluster/values.yaml")
    if document.content is not None and not isinstance(document.content, dict):
        raise InputError(f"{document.where}: it must be a mapping of names to values.")
    values = dict(document.content or {})
    for name, value in (changes or {}).items():
        _put(values, name.split("."), value)
    return validate(ClusterValues, values, where=document.where, place=None if changes else document.at)


def _put(values: dict[str, Any], parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        inner = values.get(part)
        values[part] = dict(inner) if isinstance(inner, dict) else {}
        values = values[part]
    values[parts[-1]] = value
