"""KubeRay manifests: one sweep as a RayJob, every night's evaluation as a RayCronJob."""

import shlex
from importlib.metadata import version
from typing import Any

from cluster.files.values import ClusterValues

API = "ray.io/v1"
SPECIFICATION = "/etc/g2d2/spec.yaml"
"""Where the ConfigMap's file is in the head's container, which runs the driver."""
_GPU = "nvidia.com/gpu"


def ray_job(values: ClusterValues) -> dict[str, Any]:
    """One sweep on a cluster of its own, which ends with it."""
    job = _job(values, ["g2d2", "sweep", SPECIFICATION], values.kubernetes.retries)
    return _object(values, "RayJob", values.name, job)


def ray_cron_job(values: ClusterValues) -> dict[str, Any]:
    """The nightly evaluation. A lease in the bucket keeps a night that outlasts the next one's start to itself."""
    lease = ["python", "-m", "pipelines.storage.lease", f"{values.output}/nightly-lease", "--skip", "--"]
    nightly = {
        "schedule": values.kubernetes.schedule,
        "timeZone": values.kubernetes.time_zone,
        # a regression ends with exit code 1: a retry would pay for a second cluster only to report it twice
        "jobTemplate": _job(values, [*lease, "g2d2", "nightly", SPECIFICATION], retries=0),
    }
    return _object(values, "RayCronJob", f"{values.name}-nightly", nightly)


def _object(values: ClusterValues, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": values.kubernetes.namespace, "labels": {"app.kubernetes.io/part-of": "g2d2"}}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def _job(values: ClusterValues, entrypoint: list[str], retries: int) -> dict[str, Any]:
    settings = values.kubernetes
    return {
        "entrypoint": shlex.join(entrypoint),
        "submissionMode": "K8sJobMode",
        "submitterPodTemplate": {"spec": _submitter(values)},
        "submitterConfig": {"backoffLimit": 2},
        "backoffLimit": retries,
        "activeDeadlineSeconds": round(settings.deadline_hours * 3600),
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": settings.keep_minutes * 60,
        "rayClusterSpec": _cluster(values),
    }


def _cluster(values: ClusterValues) -> dict[str, Any]:
    """Token authentication is the operator's: it makes a secret and gives it to head, workers and submitter."""
    workers = values.workers
    return {
        "rayVersion": version("ray"),
        "authOptions": {"mode": "token"},
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": {"version": "v2", "idleTimeoutSeconds": workers.idle_minutes * 60},
        "headGroupSpec": {
            "serviceType": "ClusterIP",
            # KubeRay's own service and the submitter reach the dashboard from other pods: here the token guards it
            "rayStartParams": {"num-cpus": "0", "dashboard-host": "0.0.0.0"},
            "template": {"spec": _head_pod(values)},
        },
        "workerGroupSpecs": [
            {
                "groupName": "gpu",
                "replicas": workers.min,
                "minReplicas": workers.min,
                "maxReplicas": workers.max,
                "rayStartParams": {},
                "template": {"spec": _worker_pod(values)},
            }
        ],
    }


def _head_pod(values: ClusterValues) -> dict[str, Any]:
    volume = {"name": "specification", "configMap": {"name": values.kubernetes.specification}}
    mount = {"name": "specification", "mountPath": SPECIFICATION.rsplit("/", 1)[0], "readOnly": True}
    return _pod(values, "ray-head", volumes=[volume], mounts=[mount])


def _worker_pod(values: ClusterValues) -> dict[str, Any]:
    """On nodes with GPUs, which are commonly tainted so that nothing else settles there."""
    pod = _pod(values, "ray-worker", gpus=values.workers.gpus)
    pod["tolerations"] = [{"key": _GPU, "operator": "Exists", "effect": "NoSchedule"}]
    if values.kubernetes.node_selector:
        pod["nodeSelector"] = dict(values.kubernetes.node_selector)
    return pod


def _pod(
    values: ClusterValues,
    container: str,
    volumes: list[dict[str, Any]] | None = None,
    mounts: list[dict[str, Any]] | None = None,
    gpus: int = 0,
) -> dict[str, Any]:
    settings = values.kubernetes
    amounts: dict[str, Any] = {"cpu": str(settings.cpus), "memory": f"{settings.memory_gib}Gi"}
    if gpus:
        amounts[_GPU] = str(gpus)
    # Ray's object store is shared memory, and a pod's is 64 MiB unless a volume replaces it
    shared = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{settings.memory_gib // 3}Gi"}}
    body: dict[str, Any] = {
        "containers": [
            {
                "name": container,
                "image": values.image,
                "env": _variables(values),
                "resources": {"requests": amounts, "limits": amounts},
                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}, *(mounts or [])],
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
        "volumes": [shared, *(volumes or [])],
    }
    return body | _identity(values)


def _submitter(values: ClusterValues) -> dict[str, Any]:
    """Only sends the entrypoint; it sees neither keys nor specification."""
    small = {"cpu": "500m", "memory": "1Gi"}
    container = {"name": "ray-job-submitter", "image": values.image, "resources": {"requests": small, "limits": small}}
    return {"restartPolicy": "Never", "containers": [container]} | _identity(values)


def _identity(values: ClusterValues) -> dict[str, Any]:
    account = values.kubernetes.service_account
    user = {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000}
    return {"securityContext": user} | ({} if account is None else {"serviceAccountName": account})


def _variables(values: ClusterValues) -> list[dict[str, Any]]:
    """Plain values written out, secrets by the name of where they are; the token's are left to the operator."""
    plain = {name: value for name, value in values.environment().items() if name != "RAY_AUTH_MODE"}
    variables: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in plain.items()]
    for name, secret in values.kubernetes.secrets.items():
        variables.append({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": name}}})
    return variables
