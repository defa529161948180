"""The examples of docs/distribution-metrics.md run as they stand, and its tables are complete."""

import re
from pathlib import Path

from eval.distribution import distribution_names, distribution_settings

PAGE = (Path(__file__).parents[3] / "docs" / "distribution-metrics.md").read_text()


def test_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "distribution-metrics.md", "exec"), {})
    assert capsys.readouterr().out


def test_every_name_and_setting_is_on_the_page():
    for name in distribution_names("image"):
        assert f"| `{name}` |" in PAGE
        assert all(f"`{setting}`" in PAGE for setting in distribution_settings(name).model_fields)
