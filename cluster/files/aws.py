"""A Ray cluster on EC2: spot GPU workers, an on-demand head, access to the bucket by role instead of keys."""

from typing import Any

from cluster.files.launcher import Node, launcher_file
from cluster.files.machines import machine
from cluster.files.values import ClusterValues
from operators import InputError


def aws_cluster(values: ClusterValues) -> dict[str, Any]:
    """The file for `ray up`."""
    if values.aws.ami is None:
        raise InputError(
            "aws.ami is missing: give a machine image with an NVIDIA driver and Docker; docs/clusters.md has the "
            "command that finds one."
        )
    if values.endpoint is None:  # Amazon's own store, commonly beside the machines
        values = values.model_copy(update={"store_region": values.store_region or values.aws.region})
    chosen = machine(values.gpu, "aws", values.workers.gpus)
    worker = _instance(values, chosen.type, values.aws.worker_profile)
    if values.workers.spot:
        worker |= {"InstanceMarketOptions": {"MarketType": "spot"}}
    provider: dict[str, Any] = {"type": "aws", "region": values.aws.region, "cache_stopped_nodes": False}
    if values.aws.zones:
        provider["availability_zone"] = ",".join(values.aws.zones)
    return launcher_file(
        values,
        provider,
        head=Node(_instance(values, values.aws.head_type, values.aws.head_profile), {"CPU": 0}),
        worker=Node(worker, {"CPU": chosen.cpus, "GPU": values.workers.gpus}),
    )


def _instance(values: ClusterValues, kind: str, profile: str) -> dict[str, Any]:
    """What head and workers share; metadata is served to signed requests of the machine itself alone."""
    disk = {"VolumeSize": values.disk_gb, "VolumeType": "gp3", "Encrypted": True, "DeleteOnTermination": True}
    instance: dict[str, Any] = {
        "InstanceType": kind,
        "ImageId": values.aws.ami,
        "IamInstanceProfile": {"Name": profile},
        "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": disk}],
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
    }
    if values.aws.security_groups:
        instance["SecurityGroupIds"] = list(values.aws.security_groups)
    return instance
