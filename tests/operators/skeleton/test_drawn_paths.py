"""Paths that people draw: shapes by formula, CSV files, and what nobody can walk."""

import numpy as np
import pytest

from operators import InputError
from operators.skeleton.drawn_paths import (
    SHAPES,
    WALK,
    drawn_path,
    named_path,
    packaged_prompts,
    path_names,
    path_text,
)


@pytest.mark.parametrize("name", path_names())
def test_a_named_path_begins_at_the_origin_along_z_at_an_even_pace(name):
    path = named_path(name, 196)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert path.shape == (196, 2)
    assert np.abs(path[0]).max() < 1e-12
    assert path[3, 1] > 5 * abs(path[3, 0])
    assert np.median(steps) * 20 == pytest.approx(steps.mean() * 20, rel=0.03)
    assert 0.3 < steps.mean() * 20 < 1.5


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_as_long_as_a_walk(name):
    for frames in (60, 196):
        steps = np.linalg.norm(np.diff(named_path(name, frames), axis=0), axis=1)
        assert steps.sum() == pytest.approx(WALK * (frames - 1) / 20, rel=0.03)


def test_a_circle_is_round_and_closes():
    path = named_path("circle", 196)
    middle = (path.max(axis=0) + path.min(axis=0)) / 2
    radius = np.linalg.norm(path - middle, axis=1)
    assert np.ptp(radius) < 0.01
    assert np.abs(path[-1]).max() < 1e-9


def test_an_s_bends_left_and_then_right():
    path = named_path("s", 196)
    step = np.diff(path, axis=0)
    bends = step[:-1, 1] * step[1:, 0] - step[:-1, 0] * step[1:, 1]  # positive to the left: x is left of +z
    assert (bends[5:90] > 0).all()
    assert (bends[105:190] < 0).all()


def test_a_csv_in_metres():
    path, heights = drawn_path("x,z\n2,3\n2,5\n4,5\n", "p.csv", 101)
    assert heights is None
    assert np.allclose(path[0], 0)
    assert np.allclose(path[50], [0, 2])
    assert np.allclose(path[-1], [2, 2])
    _, heights = drawn_path("x,y,z\n0,0.9,0\n0,1.1,4\n", "p.csv", 101)
    assert np.allclose(heights[[0, 50, 100]], [0.9, 1.0, 1.1])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x,y\n0,0\n1,1\n", "its columns are x, y: the first line names x and z"),
        ("", "its columns are none"),
        ("x,z\n0,0\n", "at least two different points"),
        ("x,z\n1,1\n1,1\n", "at least two different points"),
        ("x,z\n0,0\nnan,1\n", "column x has NaN"),
        ("x,z\n0,0\n1,there\n", "point 2: its z is 'there', which is no number"),
        ("x,z\n0,0\n1\n", "point 2: its z is '', which is no number"),
        ("x,y,z\n0,1,0\n0,-0.5,4\n", "leaves the floor, with a height of -0.5 m"),
        ("x,y,z\n0,1,0\n0,7,4\n", "leaves the floor, with a height of 7 m"),
        ("x,z\n0,0\n0,900\n", "takes 180 m/s in 101 frames: at most 12 m/s"),
        ("x,z\r0,0\r0,900\r", "takes 180 m/s in 101 frames: at most 12 m/s"),
        ("x,z\n0,0\n" + "9" * 200000, "it cannot be read as CSV: field larger than field limit"),
    ],
)
def test_what_nobody_can_walk(text, sentence):
    with pytest.raises(InputError, match=f"^p.csv: .*{sentence}"):
        drawn_path(text, "p.csv", 101)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_files_of_any_line_ends_with_or_without_a_mark_are_one_path(end):
    text = end.join(["x,z", "2,3", "2,5", "4,5", ""])
    for content in (text.encode(), text.encode("utf-8-sig")):
        path, _ = drawn_path(path_text(content, "p.csv"), "p.csv", 101)
        assert np.allclose(path[-1], [2, 2])


@pytest.mark.parametrize(
    "content",
    ["x,z\n0,0\n0,2\n".encode("utf-16"), "x,z\n0,0\n0,2\n".encode("utf-16-le"), bytes(range(256))[::-1], b"x\0\1\2"],
)
def test_a_file_that_is_no_text_is_named(content):
    with pytest.raises(InputError, match=r"^p.csv: it is no text in UTF-8; save it as a CSV in that encoding.$"):
        path_text(content, "p.csv")


def test_random_bytes_are_refused_in_a_sentence():
    random = np.random.default_rng(0)
    for size in range(200):
        for content in (random.bytes(size), random.integers(1, 128, size, dtype=np.uint8).tobytes()):
            with pytest.raises(InputError, match=r"^p.csv: "):
                drawn_path(path_text(content, "p.csv"), "p.csv", 101)


def test_an_unknown_path():
    with pytest.raises(InputError, match=r"path: 'cirle' is unknown .did you mean 'circle'"):
        named_path("cirle", 60)


def test_prompts_come_with_the_package():
    assert len(packaged_prompts()) > 3
    assert all(prompt.startswith("a person") for prompt in packaged_prompts())
