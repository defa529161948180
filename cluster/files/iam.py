"""What the machines of an EC2 cluster may do: the least that works."""

from typing import Any

from cluster.files.values import ClusterValues
from operators.store_urls import parse_url

_EC2 = ["ec2:Describe*", "ec2:RunInstances", "ec2:TerminateInstances", "ec2:CreateTags", "ec2:DeleteTags"]
_OBJECTS = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]


def worker_policy(values: ClusterValues) -> dict[str, Any]:
    """Objects below the output's prefix, and nothing else."""
    return _policy(_bucket_statements(values))


def head_policy(values: ClusterValues) -> dict[str, Any]:
    """The same objects, and what Ray's autoscaler does: start workers, hand them their role, end them."""
    return _policy(
        [
            *_bucket_statements(values),
            {"Effect": "Allow", "Action": _EC2, "Resource": "*"},
            {
                "Effect": "Allow",
                "Action": "iam:PassRole",
                "Resource": f"arn:aws:iam::*:role/{values.aws.worker_profile}",
                "Condition": {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
            },
        ]
    )


def _bucket_statements(values: ClusterValues) -> list[dict[str, Any]]:
    place = parse_url(values.output)
    bucket = f"arn:aws:s3:::{place.bucket}"
    prefix = f"{place.path}/*" if place.path else "*"
    return [
        {
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": bucket,
            "Condition": {"StringLike": {"s3:prefix": prefix}},
        },
        {"Effect": "Allow", "Action": _OBJECTS, "Resource": f"{bucket}/{prefix}"},
    ]


def _policy(statements: list[dict[str, Any]]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": statements}
