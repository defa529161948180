"""Cluster files from one small set of values: Ray's launcher on AWS and GCP, KubeRay jobs."""

from cluster.files.aws import aws_cluster
from cluster.files.gcp import gcp_cluster
from cluster.files.iam import head_policy, worker_policy
from cluster.files.kuberay import ray_cron_job, ray_job
from cluster.files.values import ClusterValues, load_values

KINDS = {
    "aws": aws_cluster,
    "gcp": gcp_cluster,
    "rayjob": ray_job,
    "raycronjob": ray_cron_job,
    "worker-policy": worker_policy,
    "head-policy": head_policy,
}
"""What can be rendered, each a function from values to the content of one file."""

__all__ = [
    "KINDS",
    "ClusterValues",
    "aws_cluster",
    "gcp_cluster",
    "head_policy",
    "load_values",
    "ray_cron_job",
    "ray_job",
    "worker_policy",
]
