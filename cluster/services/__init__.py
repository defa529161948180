"""Real services for development and tests on this machine: an S3 store, PostgreSQL, MLflow and a Ray head."""

from cluster.services.errors import ServiceError
from cluster.services.group import ServiceGroup
from cluster.services.object_store import ObjectStore
from cluster.services.postgres import Postgres
from cluster.services.ray_head import RayHead
from cluster.services.service import Service
from cluster.services.tracking import Tracking

__all__ = ["ObjectStore", "Postgres", "RayHead", "Service", "ServiceError", "ServiceGroup", "Tracking"]
