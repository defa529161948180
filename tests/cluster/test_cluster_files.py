"""Cluster files are valid by Ray's own rules and KubeRay's schemas, follow their values and hold no secret."""

import ast
import gzip
import json
import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from cluster.files import KINDS, load_values
from operators import InputError
from pipelines import cli

ROOT = Path(__file__).parents[2]
VALUES = ROOT / "cluster" / "values.yaml"
SCHEMAS = Path(os.environ.get("G2D2_KUBERAY_SCHEMAS", ROOT.parent / "shared" / "kuberay-crds"))
"""A folder with KubeRay's definitions, as its release has them in config/crd/bases, each through gzip."""
GIVEN = {"aws.ami": "ami-0123", "gcp.project": "project-1"}
CLOUDS, JOBS = ("aws", "gcp"), ("rayjob", "raycronjob")


def rendered(kind, **changes):
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return KINDS[kind](load_values(VALUES, GIVEN | named))


def command(capsys, *words):
    code = cli.main(["cluster", "render", *words, "--values", str(VALUES)])
    return code, capsys.readouterr()


def job(kind, **changes):
    spec = rendered(kind, **changes)["spec"]
    return spec if kind == "rayjob" else spec["jobTemplate"]


def pods(kind, **changes):
    cluster = job(kind, **changes)["rayClusterSpec"]
    return [group["template"]["spec"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("changes", [{}, {"workers__spot": False, "credentials": "~/.aws/g2d2", "gpu": "T4"}])
def test_ray_accepts_the_launcher_file(cloud, changes):
    from ray.autoscaler._private.util import prepare_config, validate_config

    content = yaml.safe_load(yaml.safe_dump(rendered(cloud, **changes)))
    prepared = prepare_config(content)
    validate_config(prepared)
    for name in ("head_setup_commands", "worker_setup_commands"):
        assert prepared[name] == []  # Ray's own defaults would install another Ray


def test_rays_validator_does_refuse():
    from ray.autoscaler._private.util import prepare_config, validate_config

    content = rendered("aws") | {"max_workers": "many"}
    with pytest.raises(Exception, match="many"):
        validate_config(prepare_config(content))


def strict(schema):
    """The published schema with unknown fields forbidden, as the API server's strict validation does."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: strict(value) for key, value in schema.items()}
    if "properties" in inner and not inner.get("x-kubernetes-preserve-unknown-fields"):
        inner.setdefault("additionalProperties", False)
    return inner


def published(plural):
    file = SCHEMAS / f"ray.io_{plural}.yaml.gz"
    if not file.exists():
        pytest.skip(f"KubeRay's schemas are not in {SCHEMAS}: G2D2_KUBERAY_SCHEMAS names their folder")
    with gzip.open(file) as stream:
        definition = yaml.safe_load(stream)
    version = next(version for version in definition["spec"]["versions"] if version["name"] == "v1")
    schema = strict(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


@pytest.fixture(scope="module")
def schemas():
    return {"rayjob": published("rayjobs"), "raycronjob": published("raycronjobs")}


def problems(schema, content):
    from jsonschema import Draft7Validator

    return [f"{list(error.path)}: {error.message[:200]}" for error in Draft7Validator(schema).iter_errors(content)]


@pytest.mark.parametrize("kind", JOBS)
def test_kuberay_accepts_the_manifest(kind, schemas):
    plain = rendered(kind)
    full = rendered(
        kind,
        tracking="http://mlflow:5000",
        endpoint="https://store.example",
        kubernetes__secrets={"AWS_ACCESS_KEY_ID": "keys", "MLFLOW_TRACKING_PASSWORD": "mlflow"},
        kubernetes__service_account="runner",
        kubernetes__node_selector={"pool": "gpu"},
        workers__gpus=4,
    )
    for content in (plain, full):
        assert problems(schemas[kind], yaml.safe_load(yaml.safe_dump(content))) == []
    broken = rendered(kind)
    broken["spec"]["entrypoints"] = "misspelt"
    assert problems(schemas[kind], broken)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_workers_are_spot_and_the_head_is_not(cloud):
    nodes = rendered(cloud)["available_node_types"]
    assert "spot" in json.dumps(nodes["gpu-worker"]).lower()
    assert "spot" not in json.dumps(nodes["head"]).lower()
    assert nodes["head"]["max_workers"] == 0
    assert "spot" not in json.dumps(rendered(cloud, workers__spot=False)).lower()


def test_values_change_what_they_should():
    nodes = rendered("aws", gpu="A10G", workers__gpus=4, workers__min=2, workers__max=6)
    worker = nodes["available_node_types"]["gpu-worker"]
    assert worker["node_config"]["InstanceType"] == "g5.12xlarge"
    assert (worker["min_workers"], worker["max_workers"], nodes["max_workers"]) == (2, 6, 6)
    assert worker["resources"] == {"CPU": 48, "GPU": 4}
    attached = rendered("gcp", gpu="T4", workers__gpus=2)["available_node_types"]["gpu-worker"]["node_config"]
    assert attached["guestAccelerators"] == [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 2}]
    assert "guestAccelerators" not in rendered("gcp")["available_node_types"]["gpu-worker"]["node_config"]
    _, worker_pod = pods("rayjob", workers__gpus=2, image="other/image:7", kubernetes__node_selector={"pool": "gpu"})
    (container,) = worker_pod["containers"]
    assert container["image"] == "other/image:7"
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert worker_pod["nodeSelector"] == {"pool": "gpu"}
    assert worker_pod["tolerations"][0]["key"] == "nvidia.com/gpu"
    options = rendered("aws", store_region=None, aws__region="eu-central-1")["docker"]["run_options"]
    assert "-e AWS_REGION=eu-central-1" in options
    assert rendered("aws", aws__zones=["us-west-2a", "us-west-2b"])["provider"]["availability_zone"].count(",") == 1


@pytest.mark.parametrize("cloud", CLOUDS)
def test_dashboards_stay_on_the_head_and_calls_need_the_token(cloud):
    content = rendered(cloud)
    start = content["head_start_ray_commands"][-1]
    assert "--dashboard-host=127.0.0.1" in start
    assert "-e RAY_AUTH_MODE=token" in content["docker"]["run_options"]
    assert content["file_mounts"] == {"/home/ray/.ray/auth_token": "~/.ray/auth_token"}


@pytest.mark.parametrize("kind", JOBS)
def test_kuberay_jobs_use_the_operators_token_and_run_without_root(kind):
    content = job(kind)
    assert content["rayClusterSpec"]["authOptions"] == {"mode": "token"}
    assert content["rayClusterSpec"]["headGroupSpec"]["serviceType"] == "ClusterIP"
    assert content["shutdownAfterJobFinishes"] is True
    assert content["activeDeadlineSeconds"] == 12 * 3600
    assert "runtimeEnvYAML" not in content
    for pod in [*pods(kind), content["submitterPodTemplate"]["spec"]]:
        assert pod["securityContext"]["runAsNonRoot"] is True


@pytest.mark.parametrize("kind", JOBS)
def test_secrets_are_named_and_never_written(kind):
    names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "MLFLOW_TRACKING_PASSWORD"]
    for pod in pods(kind, kubernetes__secrets=dict.fromkeys(names, "keys")):
        variables = {variable["name"]: variable for variable in pod["containers"][0]["env"]}
        for name in names:
            assert variables[name] == {"name": name, "valueFrom": {"secretKeyRef": {"name": "keys", "key": name}}}
    submitter = job(kind, kubernetes__secrets={"AWS_SECRET_ACCESS_KEY": "keys"})["submitterPodTemplate"]
    assert "AWS" not in json.dumps(submitter)


def test_nothing_of_the_environment_is_rendered(monkeypatch, capsys):
    planted = {
        "AWS_ACCESS_KEY_ID": "AKIAPLANTED",
        "AWS_SECRET_ACCESS_KEY": "planted-secret-1",
        "RAY_AUTH_TOKEN": "planted-secret-2",
        "MLFLOW_TRACKING_PASSWORD": "planted-secret-3",
        "MLFLOW_TRACKING_URI": "http://me:planted-secret-4@host",
    }
    for name, value in planted.items():
        monkeypatch.setenv(name, value)
    for kind in KINDS:
        code, said = command(capsys, kind, "--set", *(f"{name}={value}" for name, value in GIVEN.items()))
        assert code == 0
        assert not [value for value in planted.values() if value in said.out + said.err]


def test_only_one_night_runs_at_a_time():
    words = shlex.split(job("raycronjob")["entrypoint"])
    assert words[:4] == ["python", "-m", "pipelines.storage.lease", "s3://my-bucket/g2d2/nightly-lease"]
    assert words[words.index("--") + 1 :][:2] == ["g2d2", "nightly"]
    assert rendered("raycronjob", kubernetes__schedule="30 1 * * mon")["spec"]["schedule"] == "30 1 * * mon"


def test_a_regression_starts_no_second_cluster():
    assert job("rayjob", kubernetes__retries=3)["backoffLimit"] == 3
    assert job("raycronjob", kubernetes__retries=3)["backoffLimit"] == 0


def test_every_command_that_a_manifest_starts_exists():
    for kind in JOBS:
        words = shlex.split(job(kind)["entrypoint"])
        assert words[words.index("g2d2") + 1] in cli.COMMANDS


def test_roles_open_the_prefix_alone():
    worker = KINDS["worker-policy"](load_values(VALUES))
    text = json.dumps(worker)
    assert "arn:aws:s3:::my-bucket/g2d2/*" in text
    assert "ec2:" not in text
    assert "iam:" not in text
    head = json.dumps(KINDS["head-policy"](load_values(VALUES, {"aws.worker_profile": "other"})))
    assert "role/other" in head
    assert '"s3:*"' not in head


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"output": "/tmp/results"}, "output is '/tmp/results': it must be s3://bucket/prefix"),
        ({"output": "s3://b/../c"}, "output is"),
        ({"name": "G2D2"}, "name is 'G2D2'"),
        ({"image": "x; rm -rf /"}, "image is"),
        ({"image": "--privileged"}, "image is"),
        ({"tracking": "http://me:hush@mlflow"}, "it holds credentials"),
        ({"tracking": "http://m$(id)"}, r"it must be http\(s\)://host:port"),
        ({"endpoint": "ftp://x"}, r"it must be http\(s\)://host:port"),
        ({"store_region": "us west"}, "store_region is"),
        ({"credentials": "$(cat /etc/passwd)"}, "credentials is"),
        ({"workers.min": 5}, "min is 5 and max 4"),
        ({"workers.most": 5}, "unknown setting 'workers.most'"),
        ({"kubernetes.schedule": "at night"}, "five fields of cron"),
        ({"kubernetes.secret_key": "hush"}, "unknown setting 'kubernetes.secret_key'"),
        ({"kubernetes.secrets": {"AWS_SECRET_ACCESS_KEY": "hush/Hush+1"}}, "kubernetes.secrets.AWS_SECRET_ACCESS_KEY"),
        ({"aws.ami": "latest"}, "aws.ami is 'latest'"),
        ({"gpu": "V100"}, "gpu is 'V100'"),
    ],
)
def test_bad_values_are_one_sentence(changes, said):
    with pytest.raises(InputError, match=said) as caught:
        load_values(VALUES, GIVEN | changes)
    assert "\n" not in str(caught.value)
    assert "me:hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("aws", {"aws.ami": None}, "aws.ami is missing"),
        ("gcp", {"gcp.project": None}, "gcp.project is missing"),
        ("aws", {"workers.gpus": 2}, "workers.gpus is 2: aws has L4 in machines of 1, 4 or 8"),
        ("gcp", {"gpu": "A10G"}, "gpu is 'A10G': gcp has no such machine; choose T4, L4, A100 or H100"),
    ],
)
def test_what_a_cloud_lacks_is_said(kind, changes, said):
    with pytest.raises(InputError, match=said):
        KINDS[kind](load_values(VALUES, GIVEN | changes))


def test_the_command_prints_or_writes(capsys, tmp_path):
    code, said = command(capsys, "aws", "--set", "aws.ami=ami-0123", "workers.max=9", "name=mine")
    assert code == 0
    assert yaml.safe_load(said.out)["max_workers"] == 9
    file = tmp_path / "job.yaml"
    code, said = command(capsys, "rayjob", "--out", str(file))
    assert (code, said.out) == (0, "")
    assert yaml.safe_load(file.read_text())["kind"] == "RayJob"
    assert "&id" not in file.read_text()
    code, said = command(capsys, "aws", "--set", "workers.max")
    assert code == 2
    assert "is not name=value" in said.err
    code, said = command(capsys, "aws")
    assert code == 2
    assert said.err.startswith("g2d2 cluster: aws.ami is missing")


def test_values_may_leave_out_what_has_a_default(tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text("image: a/b:1\noutput: s3://bucket/x\n")
    assert load_values(file, {"workers.max": 2}).workers.max == 2
    file.write_text("- a list")
    with pytest.raises(InputError, match="must be a mapping"):
        load_values(file)
    with pytest.raises(InputError, match="there is no such file; start from"):
        load_values(tmp_path / "none.yaml")


def test_the_container_has_what_ray_needs_and_runs_without_root():
    lines = (ROOT / "cluster" / "Containerfile").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    for needed in (
        "openssh-client",
        "rsync",
        "wget",
        "profile.d",
        "HOME=/home/ray",
        "RAY_AUTH_MODE=token",
        "boto3",
        "constraints.txt",
    ):
        assert needed in text
    assert [line for line in lines if line.startswith("USER")][-1] == "USER 1000:1000"
    assert not re.search(r"--(extra-)?index-url|AWS_SECRET|PASSWORD", text)


def test_the_build_context_holds_every_package_and_nothing_else():
    packages = re.search(r"packages\.find\.include = (\[.*\])", (ROOT / "pyproject.toml").read_text())
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    names = {name.rstrip("*") for name in ast.literal_eval(packages[1])}
    assert kept == names | {"constraints.txt", "pyproject.toml", "README.md", "LICENSE"}
    copied = re.findall(r"^COPY (\w+) ", (ROOT / "cluster" / "Containerfile").read_text(), flags=re.MULTILINE)
    assert set(copied) == names


def page():
    """The shell blocks of the page, with its continued lines joined."""
    text = (ROOT / "docs" / "clusters.md").read_text()
    return "\n".join(re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)).replace("\\\n", " ")


def test_every_command_of_the_page_is_one_that_exists():
    found = re.findall(r"^ *(g2d2 [^|\n]*)", page(), flags=re.MULTILINE)
    assert len(found) > 12
    for line in found:
        line = re.split(r"&&| > ", line)[0].replace("$role", "head")
        words = shlex.split(line, comments=True)[1:]
        cli.build_parser(words[0]).parse_args(words)  # exits where it is wrong


def test_the_specification_of_the_page_is_valid():
    from operators.validation import validate
    from pipelines.plan.sweep_spec import SweepSpec

    (text,) = re.findall(r"<<'SPEC'\n(.*?)\nSPEC", page(), flags=re.DOTALL)
    assert validate(SweepSpec, yaml.safe_load(text), where="page").name == "trial"


def test_each_job_of_the_page_takes_the_specification_made_for_it(capsys):
    created = re.findall(r"kubectl create configmap (\S+)", page())
    lines = re.findall(r"\ng2d2 cluster render (ray\w+) --values mine\.yaml (--set [^|\n]*) \| kubectl", page())
    assert [kind for kind, _ in lines] == list(JOBS)
    assert len(set(created)) == len(created) == len(lines)  # a second `create` of the same name fails
    for name, (kind, changes) in zip(created, lines, strict=True):
        code, said = command(capsys, kind, *shlex.split(changes))
        assert code == 0
        assert f"name: {name}\n" in said.out
        assert "key: AWS_SECRET_ACCESS_KEY" in said.out
