"""What comes from outside is refused before it does harm: bombs, oversized files, names that lead elsewhere."""

import contextlib
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from operators import InputError
from operators import pictures as images
from operators.validation import validate
from pipelines import cli
from pipelines.manifest.schema import id_problem, safe_id
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage import open_store

ROOT = Path(__file__).parents[1]
BLUR = ["--operator", "gaussian_blur", "--set", "kernel_size=5", "std=0.8", "--sigma", "0.05"]


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, rows=b""):
    """A PNG that claims this size, whatever its pixels are."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(rows, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


BOMBS = {
    "just above": png(8001, 8000),
    "where Pillow warns": png(12_000, 10_000),
    "where Pillow refuses": png(100_000, 100_000),
}


@pytest.fixture(params=BOMBS)
def bomb(request, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "bomb.png").write_bytes(BOMBS[request.param])
    return folder / "bomb.png"


@pytest.fixture
def undecoded(monkeypatch):
    """Nothing may be unpacked to find out."""

    def never(*_, **__):
        raise AssertionError("a bomb was decoded")

    monkeypatch.setattr(Image.Image, "convert", never)


@pytest.mark.filterwarnings("error")
def test_bombs_are_refused_by_what_they_claim(bomb, undecoded):
    for read in (lambda: images.read_image(bomb), lambda: images.decode_image(bomb.read_bytes(), "it")):
        with pytest.raises(InputError, match=r"is above 64000000 pixels"):
            read()


@pytest.mark.parametrize("words", [["measure"], ["solve", "--prior", "cifar10"]])
def test_commands_refuse_bombs_with_one_sentence(words, bomb, tmp_path, capsys, undecoded):
    command, *options = words
    assert cli.main([command, str(bomb), *BLUR, *options, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert said[-1].startswith(f"g2d2 {command}: image {bomb}: ")
    assert said[-1].endswith("is above 64000000 pixels.")


def test_eval_and_manifests_go_on_without_the_bomb(bomb, tmp_path, capsys):
    pixels = np.random.default_rng(0).integers(0, 255, (16, 16, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(bomb.parent / "good.png")
    assert cli.main(["manifest", "build", str(bomb.parent), str(tmp_path / "manifest"), *BLUR, "--prompt", "x"]) == 1
    assert "above 64000000 pixels" in "".join(capsys.readouterr())
    assert cli.main(["eval", str(bomb.parent), str(bomb.parent), "--metrics", "psnr"]) == 1
    assert "above 64000000 pixels" in "".join(capsys.readouterr())


def test_files_too_large_to_be_a_picture_are_not_looked_into(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "MAX_FILE_BYTES", 1000)
    file = tmp_path / "large.png"
    file.write_bytes(png(8, 8) + bytes(1000))
    for read in (lambda: images.read_image(file), lambda: images.decode_image(file.read_bytes(), "it")):
        with pytest.raises(InputError, match="bytes and may have 1000"):
            read()


def test_formats_that_run_other_programs_are_not_decoded(tmp_path):
    file = tmp_path / "script.png"
    file.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n")
    with pytest.raises(InputError, match="no format known; PNG, JPEG"):
        images.read_image(file)


def test_a_measurement_that_claims_more_than_it_holds_is_not_allocated(tmp_path):
    file = tmp_path / "y.npy"
    np.save(file, np.zeros(8, dtype=np.float32))
    content = file.read_bytes().replace(b"(8,), ", b"(9999999999999,), ".ljust(6))
    header_length = len(content) - 32 - 10
    file.write_bytes(content[:8] + struct.pack("<H", header_length) + content[10:])
    with pytest.raises(InputError, match=r"it is not a \.npy file of numbers"):
        images.read_measurement(file, (3, 8, 8))


def test_arrays_that_are_programs_are_refused(tmp_path):
    np.save(tmp_path / "y.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"it is not a \.npy file of numbers"):
        images.read_measurement(tmp_path / "y.npy", (3, 8, 8))


@pytest.mark.parametrize("name", ["../x", "a/b", "/etc", "a\0b", "..", ".hidden", "a..b", "x" * 101, "a b", ""])
def test_a_sweeps_name_is_a_plain_word(name):
    values = {"name": name, "manifest": "m", "prior": "cifar10", "output": "o"}
    with pytest.raises(InputError, match="name is"):
        validate(SweepSpec, values, where="specification")


@pytest.mark.parametrize(
    "uri",
    [
        "http://me:hush@host:5000",
        "https://hush@host",
        "http://me:hu/sh@host",
        "HTTP://me:hush@x@host",
        "postgresql+psycopg2://me:hush@host/db",
        "postgresql://host/db?user=me&password=hush",
        " http://me:hush@host:5000",
        "\thttps://hush@host",
        "http://host:5000/?api_key=hush",
        "http://host:5000/#token=hush",
        "mssql://host/db;uid=me;pwd=hush",
        "mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3Dhush",
        "postgresql://host/db?sslpassword=hush",
        "postgresql://host/db?p%61ssword=hush",
        "ftp://me:hush@host",
        "me:hush@host",
        "sqlite:///x.db?Password=hush",
    ],
)
def test_a_tracking_address_with_a_secret_is_refused_unseen(uri):
    values = {"name": "x", "manifest": "m", "prior": "cifar10", "output": "o", "tracking": {"uri": uri}}
    with pytest.raises(InputError, match="it holds a password") as caught:
        validate(SweepSpec, values, where="specification")
    assert "hu" not in str(caught.value).partition("it holds")[0].replace("http", "")


@pytest.mark.parametrize(
    "uri",
    [
        "http://host:5000",
        "sqlite:////data/a@b/x.db",
        "postgresql://host:5432/db",
        "postgresql://me@host/db?sslmode=require",
        "databricks",
        "databricks://profile",
    ],
)
def test_a_tracking_address_without_a_secret_is_taken(uri):
    values = {"name": "x", "manifest": "m", "prior": "cifar10", "output": "o", "tracking": {"uri": uri}}
    assert validate(SweepSpec, values, where="specification").tracking.uri == uri


SECRET_ADDRESS = "s3://KEYHUSH:SECRETHUSH@bucket/x"


@pytest.mark.parametrize(
    "words",
    [
        ["compare", SECRET_ADDRESS, SECRET_ADDRESS],
        ["status", SECRET_ADDRESS],
        ["report", SECRET_ADDRESS],
        ["site", SECRET_ADDRESS, "--out", "site"],
        ["site", "here", "--out", SECRET_ADDRESS],
        ["track", SECRET_ADDRESS],
        ["manifest", "check", SECRET_ADDRESS],
        ["prior", "info", SECRET_ADDRESS],
        ["prior", "info", "https://hub/?token=SECRETHUSH"],
        ["status", "http://h/?p%61ssword=SECRETHUSH"],
        ["status", "out", "--address", "http://me:SECRETHUSH@127.0.0.1:9"],
        ["status", "out", SECRET_ADDRESS],
    ],
)
def test_an_address_with_a_secret_is_refused_by_commands_and_never_repeated(words, capfd):
    try:
        code = cli.main(words)
    except SystemExit as end:  # words that argparse refuses
        code = end.code
    printed = "".join(capfd.readouterr())
    assert code == 2
    assert printed.strip()
    assert "HUSH" not in printed


@pytest.mark.parametrize("text", ["../../etc/passwd", "a/../b", "x\0y", "a\nb", "c:\\d", "a b", "ü"])
def test_ids_cannot_lead_elsewhere(text):
    assert id_problem(text) is not None
    made = safe_id(text)
    assert id_problem(made) is None
    assert ".." not in made


@pytest.mark.parametrize(
    "url", ["a\0b", "s3://bucket/../other", "s3://bucket//x", "http://host/x", "s3://u:p@bucket/x"]
)
def test_urls_that_lead_elsewhere_are_refused(url):
    with pytest.raises(InputError):
        open_store(url)


def test_a_planted_link_is_replaced_and_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("a.json", "b.png"):
        (out / name).symlink_to(victim)
    open_store(out).write_bytes("a.json", b"{}")
    images.write_bytes(b"picture", out / "b.png")
    assert open_store(out).create_new("a.json", b"again") is False
    assert victim.read_text() == "mine"
    assert not any((out / name).is_symlink() for name in ("a.json", "b.png"))
    assert sorted(os.listdir(out)) == ["a.json", "b.png"]


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        images.write_bytes(b"x", tmp_path / "taken")
    assert os.listdir(tmp_path) == ["taken"]


def test_a_manifest_cannot_name_files_outside_itself(tmp_path):
    """Its summary may come from anywhere; the shards it names must lie beside it."""
    import json

    from pipelines.manifest import Manifest

    pixels = np.zeros((8, 8, 3), dtype=np.uint8)
    (tmp_path / "pictures").mkdir()
    Image.fromarray(pixels).save(tmp_path / "pictures" / "p.png")
    assert cli.main(["manifest", "build", str(tmp_path / "pictures"), str(tmp_path / "m"), *BLUR, "--prompt", "x"]) == 0
    (file,) = (tmp_path / "m").glob("*.json")
    content = json.loads(file.read_text())
    content["shards"][0]["name"] = "../../etc/passwd"
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"name in the store|\.\."):
        Manifest.open(str(tmp_path / "m")).fetch([(0, 0)])


def test_local_services_listen_on_this_machine_alone(tmp_path):
    from cluster.services.object_store import ObjectStore
    from cluster.services.postgres import Postgres
    from cluster.services.ray_head import RayHead
    from cluster.services.tracking import Tracking

    store, ray = ObjectStore(tmp_path / "s"), RayHead(tmp_path / "r")
    for service in (store, ray):
        service.folder.mkdir(parents=True)
        service.prepare()
    if ObjectStore.binary() is not None:
        assert "-ip.bind=127.0.0.1" in store.command()
    assert {"--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1"} <= set(ray.command())
    assert ray.env["RAY_AUTH_MODE"] == "token"
    assert len(ray.env["RAY_AUTH_TOKEN"]) == 64
    assert ray.env["RAY_AUTH_TOKEN"] not in " ".join(ray.command())
    tracking = Tracking(tmp_path / "m", Postgres(tmp_path / "p"))
    tracking.state.ports["http"] = 5000
    words = tracking.command()
    assert words[words.index("--host") + 1] == "127.0.0.1"
    ray.stop()


def listening(pids):
    """Addresses that these processes and their children take connections at."""
    import psutil

    found = set()
    for pid in pids:
        for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                sockets = process.net_connections(kind="inet")
                found |= {socket.laddr.ip.removeprefix("::ffff:") for socket in sockets if socket.status == "LISTEN"}
    return found


def test_ray_started_for_a_sweep_listens_on_this_machine_alone():
    code = "from pipelines.solve.devices import connect; connect(); print('up', flush=True); input()"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, text=True, **pipes) as process:
        assert any(line == "up\n" for line in process.stdout)
        found = listening([process.pid])
        process.communicate("\n", timeout=120)
    assert found == {"127.0.0.1"}


@pytest.mark.slow
def test_a_ray_head_for_development_listens_on_this_machine_alone_and_drivers_find_it(tmp_path):
    from cluster.services.ray_head import RayHead

    head = RayHead(tmp_path / "ray")
    head.start()
    try:
        assert listening([record.pid for record in head.state.processes]) == {"127.0.0.1"}
        code = "import ray; ray.init(log_to_driver=False); print(ray.get(ray.remote(lambda: 41 + 1).remote()))"
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | head.env, capture_output=True, text=True, timeout=300
        )
        assert done.stdout.strip().endswith("42"), done.stderr
    finally:
        head.stop()
