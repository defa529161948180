"""Sources: folders, Parquet, CSV and the packaged images, their ids, labels and prompts."""

import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from operators import InputError, validate
from pipelines.manifest import BuildSettings, picture
from pipelines.manifest.measuring import Measurer
from pipelines.manifest.picture_rows import PictureRows
from pipelines.manifest.prompts import prompt_rule
from pipelines.manifest.schema import safe_id
from pipelines.manifest.sources import open_source
from pipelines.storage import open_store


def png(number):
    buffer = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), number, dtype=np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def look(source, **settings):
    """Ids, labels, prompts and first pixels of a source, and why others are left out."""
    chosen = validate(BuildSettings, {"source": str(source), "operator": "identity", **settings})
    opened = open_source(chosen)
    rejected = []
    sources = PictureRows(chosen, prompt_rule(chosen, opened.columns), rejected)
    rows = [row for rows in Measurer(rejected).rows(sources(opened.pictures)) for row in rows]
    assert opened.count == len(rows) + len(rejected)
    found = [(row.source, row.label, row.prompt, Image.open(io.BytesIO(row.truth)).getpixel((0, 0))[0]) for row in rows]
    return found, [one.reason for one in rejected]


def test_a_folder_is_read_at_any_depth_in_order_without_hidden_files(tmp_path):
    for number, name in enumerate(["b.PNG", "a/x.png", "a.b/y.png", ".hidden/z.png", "a/._x.png", "notes.txt"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(png(number))
    assert look(tmp_path) == ([("a.b/y", None, "", 2), ("a/x", None, "", 1), ("b", None, "", 0)], [])


@pytest.mark.parametrize("place", ["local", "s3"])
def test_a_file_too_large_to_be_a_picture_is_not_read(place, tmp_path, request, monkeypatch):
    if place == "s3":
        request.getfixturevalue("s3_env")
    url = str(tmp_path) if place == "local" else f"s3://g2d2/{tmp_path.name}"
    store, read = open_store(url), []
    store.write_bytes("good.png", png(7))
    store.write_bytes("large.png", png(8) + bytes(1000))
    original = type(store).read_bytes
    monkeypatch.setattr(type(store), "read_bytes", lambda self, name: read.append(name) or original(self, name))
    monkeypatch.setattr(picture, "MAX_FILE_BYTES", 1000)
    found, rejected = look(url)
    assert [row[0] for row in found] == ["good"]
    assert len(rejected) == 1
    assert rejected[0].startswith(f"image {url}/large.png: its file has ")
    assert read == ["good.png"]


def test_parquet_with_bytes(make_table):
    source = make_table(2, images=[png(1), png(2)], label=[3, None], caption=["one", "two"])
    assert look(source) == ([("img-0", "3", "one", 1), ("img-1", None, "two", 2)], [])
    assert look(source, prompt="fixed")[0][1] == ("img-1", None, "fixed", 2)
    assert look(source, id_column="caption", label_column="id")[0][0] == ("one", "img-0", "one", 1)


def test_parquet_with_structs_as_the_hub_has_them_and_no_ids(make_table):
    images = [
        {"bytes": png(1), "path": "x.png"},
        {"bytes": None, "path": "y.png"},
        None,
        {"bytes": png(4), "path": None},
    ]
    found, rejected = look(make_table(4, id=None, images=images))
    assert found == [("00000000", None, "", 1), ("00000003", None, "", 4)]
    assert rejected == [f"image 0000000{number}: its row holds no picture." for number in (1, 2)]


def test_a_folder_of_parquet_files_is_one_source(make_table, tmp_path):
    make_table(2, "set/b.parquet", id=["b0", "b1"])
    make_table(1, "set/a.parquet", id=["a0"])
    assert [row[0] for row in look(tmp_path / "set")[0]] == ["a0", "b0", "b1"]
    make_table(1, "set/c.parquet", id=None)
    with pytest.raises(InputError, match=r"c.parquet has no column 'id', which other files have"):
        look(tmp_path / "set")


def test_rows_without_an_id_or_with_a_taken_one_are_rejected(make_table):
    found, rejected = look(make_table(4, id=["a", "a", None, "../b"]))
    assert [row[0] for row in found] == ["a", "=2E=2E/b"]
    assert rejected == ["image a: its id 'a' belongs to an earlier picture.", "image row 2: its id is empty."]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_column": "picture"}, "image_column: 'picture' is not a column; there are id, image, label"),
        ({"id_column": "name"}, "id_column: 'name' is not a column"),
        ({"prompt_column": "text"}, "prompt_column: 'text' is not a column; there are id, label"),
        ({"prompt_template": "a {colour}"}, "prompt_template: 'colour' is not a column; there are id, label"),
        ({"prompt_template": "a {label"}, "write {{ and }} for braces"),
        ({"prompt_template": "a {label.real}"}, "'label.real' is not a column"),
        ({"prompt_template": "a {label!r}"}, "braces may hold a column's name and nothing else"),
        ({"prompt_template": "a {}"}, "braces may hold a column's name and nothing else"),
        ({"image_column": "label"}, "'label' of .* is int64; it must be binary"),
    ],
)
def test_unknown_columns_are_named(make_table, settings, message):
    with pytest.raises(InputError, match=message):
        look(make_table(2, label=[1, 2]), **settings)


def test_a_template_fills_columns_and_rejects_rows_where_one_is_empty(make_table):
    source = make_table(2, images=[png(1), png(2)], kind=["dog", None], label=[0, 1])
    found, rejected = look(source, prompt_template="{{a}} {kind}, {label}")
    assert [row[2] for row in found] == ["{a} dog, 0"]
    assert rejected == ["image img-1: its column 'kind' is empty and the prompt template needs it."]
    assert look(source, prompt_template="a {label}", label_column="kind")[0][0][1:3] == ("dog", "a dog")


def test_csv_paths_are_relative_to_it_and_captions_are_prompts(tmp_path):
    (tmp_path / "lists").mkdir()
    (tmp_path / "images").mkdir()
    for number in (1, 2, 3):
        (tmp_path / "images" / f"{number}.png").write_bytes(png(number))
    (tmp_path / "lists" / "beside.png").write_bytes(png(9))
    lines = [
        "image_path, caption",
        'beside.png, "a dog, running"',
        "../images/1.png,",
        f"{tmp_path}/images/2.png, two",
        "missing.png, none",
        "../images/3.png, three, four",
        ", nothing",
    ]
    (tmp_path / "lists" / "set.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    found, rejected = look(tmp_path / "lists" / "set.csv")
    assert [(source.rpartition("/")[2], prompt, value) for source, _, prompt, value in found] == [
        ("beside", "a dog, running", 9),
        ("1", "", 1),
        ("2", "two", 2),
    ]
    assert found[1][0] == "=2E=2E/images/1"
    assert rejected[0] == f"image {tmp_path}/lists/missing.png: there is no such file."
    assert "its row has 3 fields and the header 2; quote text that holds commas" in rejected[1]
    assert "its id is empty" in rejected[2]


def test_csv_columns_can_be_named(tmp_path):
    (tmp_path / "x.png").write_bytes(png(5))
    (tmp_path / "set.csv").write_text("name,file,text,label\nn1,x.png,hello,dog\n")
    settings = {"image_column": "file", "id_column": "name", "prompt_column": "text"}
    assert look(tmp_path / "set.csv", **settings)[0] == [("n1", "dog", "hello", 5)]
    with pytest.raises(InputError, match="there is no column 'image_path'; there are name, file, text, label"):
        look(tmp_path / "set.csv")


def test_the_packaged_images_have_names_for_labels():
    found, rejected = look("cifar10-heldout", tasks=["sr4-32"], operator=None)
    assert (len(found), rejected) == (512, [])
    assert found[1][:3] == ("automobile-000", "automobile", "a photo of an automobile")


def test_sources_that_are_none(tmp_path, make_table):
    for name, content in (
        ("empty.csv", b""),
        ("latin.csv", b"image_path,\xe9tat\nx.png,a"),
        ("broken.parquet", b"PAR1"),
    ):
        (tmp_path / name).write_bytes(content)
    messages = {
        "nowhere": "nowhere is missing or without pictures; it must be a folder of .png",
        "nowhere.csv": "there is no file",
        "empty.csv": "there is no column 'image_path'; there are none",
        "latin.csv": "cannot be read as a CSV in UTF-8",
        "broken.parquet": "cannot be read as Parquet",
    }
    for name, message in messages.items():
        with pytest.raises(InputError, match=message):
            look(tmp_path / name)
    make_table(0, "none.parquet", id=pa.array([], pa.string()), images=pa.array([], pa.binary()))
    with pytest.raises(InputError, match=r"none.parquet is without pictures"):
        look(tmp_path / "none.parquet")
    (tmp_path / "x.png").write_bytes(png(0))
    with pytest.raises(InputError, match="holds pictures and Parquet files"):
        look(tmp_path)


def test_a_folder_has_no_columns(tmp_path):
    (tmp_path / "x.png").write_bytes(png(0))
    with pytest.raises(InputError, match=r"label_column: .* is a folder of pictures, which has no columns"):
        look(tmp_path, label_column="label")
    with pytest.raises(InputError, match="prompt_template: 'label' is not a column; there are none"):
        look(tmp_path, prompt_template="a {label}")


def test_safe_ids_tell_names_apart():
    assert safe_id("/a b/ü..png") == "a=20b/=C3=BC=2E=2Epng"
    assert safe_id("train/n01.x@2:+=-_") == "train/n01.x@2:+=-_"
    assert len({safe_id(name) for name in ("a b", "a-b", "a_b", "a\tb")}) == 4


def test_limits_count_sources_and_labels(make_table, build):
    source = make_table(6, label=["a", "a", "a", "b", "b", "a"])
    assert build(source, limit=4, overwrite=True).summary.rows == 4
    assert build(source, per_label=2, overwrite=True).summary.rows == 4
    assert build(source, limit=3, per_label=2, overwrite=True).summary.rows == 2
