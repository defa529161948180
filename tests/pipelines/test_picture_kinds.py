"""People's pictures: sideways, grey, with a palette, transparent, deep or for print; every command reads them alike."""

import io
import json
import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from operators.pictures import decode_image
from pipelines import cli
from pipelines.manifest import Manifest, decode_truth, read_row

WIDTH, HEIGHT = 8, 6
ORIENTATION = 0x0112
SOLVER = ["--set", "steps=2", "iterations=1", "guidance=1"]


def run(*words):
    return cli.main([str(word) for word in words])


def colours(seed=0, width=WIDTH, height=HEIGHT):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def seen(file):
    """A picture's pixels (H, W, 3) as this program reads them."""
    return decode_image(file, "x").add(1).mul(127.5).round().permute(1, 2, 0).numpy().astype(np.uint8)


def as_taken(upright, orientation):
    """What a camera held so stores: the inverse of what a viewer does with the picture."""
    return {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, 1),
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }[orientation]


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF", "JPEG"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_enters_as_its_owner_sees_it(kind, orientation):
    upright = np.kron(colours(), np.ones((8, 8, 1), np.uint8))  # blocks, which JPEG keeps apart
    file, note = io.BytesIO(), Image.Exif()
    note[ORIENTATION] = orientation
    options = {"lossless": True} if kind == "WEBP" else {"quality": 100, "subsampling": 0} if kind == "JPEG" else {}
    Image.fromarray(np.ascontiguousarray(as_taken(upright, orientation))).save(file, kind, exif=note, **options)
    read = seen(file.getvalue())
    assert read.shape == upright.shape
    assert np.abs(read.astype(int) - upright).max() <= (8 if kind == "JPEG" else 0)


def test_a_broken_note_about_the_camera_costs_the_turn_and_not_the_picture():
    file = io.BytesIO()
    Image.fromarray(colours()).save(file, "PNG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff\x01")
    assert np.array_equal(seen(file.getvalue()), colours())


def sideways(folder):
    """An 8x6 photograph from a telephone, stored as 6x8."""
    note = Image.Exif()
    note[ORIENTATION] = 6
    Image.fromarray(np.ascontiguousarray(as_taken(colours(), 6))).save(folder / "phone.png", exif=note)
    return folder / "phone.png"


def test_measure_manifest_and_eval_turn_a_phone_picture(tmp_path, capsys):
    phone = sideways(tmp_path)
    plain = ["--operator", "identity", "--sigma", "0"]
    assert run("measure", phone, *plain, "--out", tmp_path / "m") == 0
    assert "  8x6  " in capsys.readouterr().out  # width x height
    y = np.load(tmp_path / "m" / "phone-measurement.npy")
    assert np.allclose((y + 1) * 127.5, colours().transpose(2, 0, 1), atol=0.01)
    (tmp_path / "pictures").mkdir()
    phone.rename(tmp_path / "pictures" / "phone.png")
    assert run("manifest", "build", tmp_path / "pictures", tmp_path / "manifest", *plain) == 0
    row = read_row(Manifest.open(str(tmp_path / "manifest")).fetch([(0, 0)]), 0)
    assert np.allclose((decode_truth(row).numpy() + 1) * 127.5, colours().transpose(2, 0, 1), atol=0.01)
    assert run("manifest", "show", tmp_path / "manifest") == 0
    assert "  8x6  8x6\n" in capsys.readouterr().out
    Image.fromarray(colours()).save(tmp_path / "upright.png")
    pair = [tmp_path / "upright.png", tmp_path / "pictures" / "phone.png"]
    assert run("eval", *pair, "--metrics", "psnr", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["psnr"] == "inf"


def deep_png(values, colour_type, transparent=None):
    """A PNG of 16 bits per channel, which Pillow writes only for grey."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = values.shape[:2]
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in values)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0))
    alpha = b"" if transparent is None else chunk(b"tRNS", struct.pack(">H", transparent))
    return b"\x89PNG\r\n\x1a\n" + head + alpha + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def kinds(side=8):
    """Files by name, and what should be seen of each; all are opaque."""
    rgb = colours(1, side, side)
    grey = np.repeat(rgb[:, :, :1], 3, axis=2)
    palette = Image.fromarray(rgb).quantize(16)
    ink = Image.fromarray(rgb).convert("CMYK")
    deep = rgb.astype(np.uint16) * 256 + 7
    wanted = {
        "colours.png": (Image.fromarray(rgb), rgb),
        "grey.png": (Image.fromarray(rgb[:, :, 0]), grey),
        "bits.png": (Image.fromarray(rgb[:, :, 0] > 99), np.repeat(rgb[:, :, :1] > 99, 3, axis=2) * np.uint8(255)),
        "palette.png": (palette, np.asarray(palette.convert("RGB"))),
        "opaque.png": (Image.fromarray(np.dstack([rgb, np.full((side, side), 255, np.uint8)])), rgb),
        "grey-opaque.png": (Image.fromarray(rgb[:, :, 0]).convert("LA"), grey),
        "print.tif": (ink, np.asarray(ink.convert("RGB"))),
        "deep-grey.png": (deep_png(deep[:, :, 0], 0), grey),
        "deep-grey.tif": (Image.fromarray(deep[:, :, 0]), grey),
        "deep-grey.ppm": (b"P5 %d %d 65535\n" % (side, side) + deep[:, :, 0].astype(">u2").tobytes(), grey),
        "deep-colours.png": (deep_png(deep, 2), rgb),
    }
    return {name: (encoded(picture, name), pixels) for name, (picture, pixels) in wanted.items()}


def encoded(picture, name):
    if isinstance(picture, bytes):
        return picture
    file = io.BytesIO()
    picture.save(file, "TIFF" if name.endswith("tif") else "PNG")
    return file.getvalue()


@pytest.mark.parametrize("name", kinds())
def test_every_opaque_kind_becomes_rgb_without_a_flag(name):
    content, pixels = kinds()[name]
    assert np.array_equal(seen(content), pixels)


def transparent(side=8):
    """Half-transparent pictures of every kind, by name."""
    rgb = colours(2, side, side)
    alpha = np.where(np.arange(side) < side // 2, 0, 255).astype(np.uint8) * np.ones((side, 1), np.uint8)
    rgba = Image.fromarray(np.dstack([rgb, alpha]))
    palette = Image.fromarray(np.arange(side * side, dtype=np.uint8).reshape(side, side) % 16)
    palette.putpalette([channel for colour in range(16) for channel in (colour, colour, colour)])
    deep = np.full((side, side), 9 * 256, np.uint16)
    deep[0, 0] = 5
    files = {"rgba.png": encoded(rgba, ""), "la.png": encoded(rgba.convert("LA"), "")}
    for name, options in (("palette.png", {"transparency": 3}), ("shades.png", {"transparency": bytes([9] * 16)})):
        file = io.BytesIO()
        picture = Image.new("P", (side, side))
        picture.putdata(list(palette.get_flattened_data()))
        picture.putpalette([channel for colour in range(16) for channel in (colour, colour, colour)])
        picture.save(file, "PNG", **options)
        files[name] = file.getvalue()
    return files | {"deep.png": deep_png(deep, 0, transparent=5)}


SENTENCE = "parts of it are transparent; --background white or black says what is behind"


def test_transparency_is_asked_about_alike_by_every_command(tiny_prior, tmp_path, capsys):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name, content in transparent().items():
        (pictures / name).write_bytes(content)
    names, count = sorted(pictures.iterdir()), len(transparent())
    plain = ["--operator", "identity", "--sigma", "0"]
    commands = {
        "measure": [*names, *plain, "--out", tmp_path / "m"],
        "solve": [*names, *plain, "--prior", tiny_prior, "--out", tmp_path / "s", *SOLVER],
        "manifest": ["build", pictures, tmp_path / "manifest", *plain],
        "eval": [pictures, pictures, "--metrics", "psnr"],
    }
    for command, words in commands.items():
        assert run(command, *words) == (1 if command == "eval" else 2)
        lines = capsys.readouterr().err.splitlines()
        again = command == "manifest"  # the first once more, as the reason why nothing was built
        assert sum(SENTENCE in line for line in lines) == count + again
    for command, words in commands.items():
        assert run(command, *words, "--background", "white") == 0
    y = np.load(tmp_path / "m" / "rgba-measurement.npy")
    assert np.all(y[:, :, :4] == 1)
    assert np.allclose((y[:, :, 4:] + 1) * 127.5, colours(2, 8, 8).transpose(2, 0, 1)[:, :, 4:], atol=0.01)
    rows = Manifest.open(str(tmp_path / "manifest")).fetch([(0, row) for row in range(count)])
    truths = {row["source"]: decode_truth(row) for row in (read_row(rows, number) for number in range(count))}
    for name, truth in truths.items():
        assert np.allclose(truth, np.load(tmp_path / "m" / f"{name}-measurement.npy"), atol=0.005)


def test_a_decoder_that_complains_is_one_sentence(tmp_path):
    """In a process of its own: Pillow logs to where nobody set up a log."""
    file = io.BytesIO()
    Image.fromarray(colours()).save(file, "TIFF")
    samples = struct.pack("<HHIHH", 277, 3, 1, 3, 0)  # samples per pixel
    assert samples in file.getvalue()
    (tmp_path / "x.tif").write_bytes(file.getvalue().replace(samples, struct.pack("<HHIHH", 277, 3, 1, 2048, 0)))
    words = ["measure", tmp_path / "x.tif", "--operator", "identity", "--out", tmp_path / "m"]
    command = [sys.executable, "-m", "pipelines.cli", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "x.tif: it cannot be read as a picture" in done.stderr


@pytest.mark.parametrize("command", ["eval", "manifest"])
def test_a_pipe_is_never_waited_for(command, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.png")
    words = {
        "eval": [tmp_path / "pipe.png", tmp_path / "pipe.png"],
        "manifest": ["build", tmp_path / "pipe.png", tmp_path / "m", "--operator", "identity"],
    }
    assert run(command, *words[command]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_pixels_of_unknown_range_are_refused_with_the_remedy(tmp_path, capsys):
    Image.fromarray(np.ones((8, 8), np.float32)).save(tmp_path / "floats.tif")
    Image.fromarray(np.ones((8, 8), np.int32)).save(tmp_path / "integers.tif")
    words = [tmp_path / "floats.tif", tmp_path / "integers.tif", "--operator", "identity", "--out", tmp_path / "m"]
    assert run("measure", *words) == 2
    errors = capsys.readouterr().err.splitlines()
    assert [("mode F" in line, "mode I" in line) for line in errors] == [(True, False), (False, True)]
    assert all(line.endswith("save it with 8 or 16 bits per channel.") for line in errors)


@pytest.mark.parametrize("command", ["measure", "solve"])
def test_a_bad_picture_costs_no_other(command, tiny_prior, tmp_path, capsys):
    Image.fromarray(colours(3, 8, 8)).save(tmp_path / "good.png")
    Image.fromarray(colours(3, 8, 8)).save(tmp_path / "wide.png")
    (tmp_path / "bad.png").write_text("not a picture")
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    names = ["bad.png", "good.png", "none.png", "folder.png", "pipe.png", "wide.png"]
    words = [*(tmp_path / name for name in names), "--operator", "identity", "--out", tmp_path / "out"]
    words += ["--prior", tiny_prior, *SOLVER] if command == "solve" else []
    assert run(command, *words) == 1
    captured = capsys.readouterr()
    reasons = [line.partition(": image ")[2].removeprefix(f"{tmp_path}/") for line in captured.err.splitlines()]
    assert reasons[0].startswith("bad.png: it cannot be read as a picture")
    assert reasons[1:] == [
        "none.png: there is no such file.",
        "folder.png: it is a folder and must be a file.",
        "pipe.png: it is a pipe or device and must be a file.",
    ]
    assert len(captured.out.splitlines()) == 2
    written = {path.name for path in (tmp_path / "out").glob("*-measurement.npy")}
    assert written == {"good-measurement.npy", "wide-measurement.npy"}


def test_a_damaged_measurement_costs_no_other(tiny_prior, tmp_path, capsys):
    good = tmp_path / "good.npy"
    np.save(good, np.zeros((3, 8, 8), np.float32))
    content = good.read_bytes()
    broken = {
        "brackets": content.replace(b"(3, 8, 8), }", b"(3, 8, 8)(}}"),
        "deep": content.replace(b"(3, 8, 8), }", b"((((((((((((")[:80],
        "type": content.replace(b"'<f4'", b"'<zz'"),
        "object": content.replace(b"'<f4'", b"'|O8'"),
        "text": content.replace(b"'descr'", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9"),
        "version": content[:6] + b"\x09\x09" + content[8:],
        "negative": content.replace(b"(3, 8, 8)", b"(-3,8, 8)"),
        "large": content.replace(b"(3, 8, 8), }", b"(9**99,8,8)}"),
        "huge": content.replace(b"(3, 8, 8), }     ", b"(99999999999999999,)}"),
        "empty": b"",
    }
    for name, damaged in broken.items():
        assert damaged != content
        (tmp_path / f"{name}.npy").write_bytes(damaged)
    os.mkfifo(tmp_path / "pipe.npy")
    files = [good, *(tmp_path / f"{name}.npy" for name in (*broken, "pipe"))]
    words = ["--measured", "--operator", "identity", "--prior", tiny_prior, "--out", tmp_path / "s", *SOLVER]
    assert run("solve", *files, *words) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == len(broken) + 1
    assert all(line.startswith("g2d2 solve: measurement ") for line in errors)
    assert (tmp_path / "s" / "good.png").exists()


def test_noise_beyond_what_a_measurement_can_hold_is_refused(tmp_path, capsys):
    Image.fromarray(colours()).save(tmp_path / "a.png")
    words = ["measure", tmp_path / "a.png", "--operator", "identity", "--out", tmp_path / "m", "--sigma"]
    for sigma in ("1e39", "1e31", "inf", "nan"):
        assert run(*words, sigma) == 2
        assert "must be finite and at least 0, and at most 1e+30" in capsys.readouterr().err
    assert run(*words, "1e30") == 0
    assert np.isfinite(np.load(tmp_path / "m" / "a-measurement.npy")).all()
