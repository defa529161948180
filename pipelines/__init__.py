"""How evaluations run over data: the manifest, the plan, the stages and the `g2d2` command.

`from pipelines import Sweep` is the same from Python; it loads on first use.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from pipelines.notebook.opened_sweep import Sweep

__all__ = ["Sweep"]

__getattr__ = on_first_use(__name__, {"Sweep": "notebook.opened_sweep"})
