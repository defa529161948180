"""A Ray cluster on Compute Engine: spot GPU workers and an on-demand head."""

from typing import Any

from cluster.files.launcher import Node, launcher_file
from cluster.files.machines import machine
from cluster.files.values import ClusterValues
from operators import InputError

_EVERYTHING_ITS_ROLES_ALLOW = "https://www.googleapis.com/auth/cloud-platform"


def gcp_cluster(values: ClusterValues) -> dict[str, Any]:
    """The file for `ray up`."""
    if values.gcp.project is None:
        raise InputError("gcp.project is missing: give the id of your project, as `gcloud projects list` shows it.")
    chosen = machine(values.gpu, "gcp", values.workers.gpus)
    # machines with GPUs cannot be moved while they run
    scheduling: dict[str, Any] = {"onHostMaintenance": "TERMINATE", "automaticRestart": False}
    if values.workers.spot:
        scheduling |= {"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"}
    worker = _instance(values, chosen.type) | {"scheduling": scheduling}
    if chosen.accelerator is not None:
        attached = {"acceleratorType": chosen.accelerator, "acceleratorCount": values.workers.gpus}
        worker |= {"guestAccelerators": [attached]}
    if values.gcp.worker_account is not None:
        worker["serviceAccounts"] = [{"email": values.gcp.worker_account, "scopes": [_EVERYTHING_ITS_ROLES_ALLOW]}]
    provider = {
        "type": "gcp",
        "region": values.gcp.region,
        "availability_zone": values.gcp.zone,
        "project_id": values.gcp.project,
        "cache_stopped_nodes": False,
    }
    return launcher_file(
        values,
        provider,
        head=Node(_instance(values, values.gcp.head_type), {"CPU": 0}),
        worker=Node(worker, {"CPU": chosen.cpus, "GPU": values.workers.gpus}),
    )


def _instance(values: ClusterValues, kind: str) -> dict[str, Any]:
    disk = {"diskSizeGb": values.disk_gb, "sourceImage": values.gcp.source_image}
    return {
        "machineType": kind,
        "disks": [{"boot": True, "autoDelete": True, "type": "PERSISTENT", "initializeParams": disk}],
    }
