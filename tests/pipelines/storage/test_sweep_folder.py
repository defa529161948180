"""The folder of a sweep: what it keeps of the specification."""

import json

from pipelines.storage.sweep_folder import SUMMARY, SweepFolder


def test_arms_keep_the_order_in_which_they_were_written(tmp_path):
    SweepFolder(str(tmp_path)).write_summary({"specification": {"arms": {"star": {}, "wiener": {}, "bicubic": {}}}})
    stored = json.loads((tmp_path / SUMMARY).read_text())
    assert list(stored["specification"]["arms"]) == ["star", "wiener", "bicubic"]
