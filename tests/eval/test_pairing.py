"""Two folders of pictures, paired by name."""

from eval.pairing import pair_pictures


def test_panels_beside_reconstructions_are_not_missed(tmp_path):
    for folder, names in (("truth", ["a"]), ("made", ["a", "a-panel", "b-panel"])):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.png").write_bytes(b"")
    assert pair_pictures(tmp_path / "truth", tmp_path / "made").only_reconstruction == ("b-panel",)
