"""What `g2d2 plan` calls the cells of a grid over several tasks."""

from types import SimpleNamespace

import pytest

from pipelines.commands.plan import cell_words


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ({"sr4-32": 12, "gaussian-deblur-32": 12}, "12 settings x 2 tasks = 24 cells"),
        ({"sr4-32": 1, "gaussian-deblur-32": 1}, "1 setting x 2 tasks = 2 cells"),
        ({"sr4-32": 12}, "12 cells"),
        ({"sr4-32": 3, "gaussian-deblur-32": 2}, "5 cells"),
    ],
)
def test_cells_are_settings_times_tasks(tasks, words):
    assert cell_words([SimpleNamespace(task=task) for task, count in tasks.items() for _ in range(count)]) == words
