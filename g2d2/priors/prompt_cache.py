"""Encoded prompts that are kept on the device, the least recently used given up first."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from torch import Tensor

PROMPT_BYTES = 256 * 2**20
"""Memory for prompts: some 1,700 of the published VQ-Diffusion, each 77 states of width 512 in float32."""


class PromptCache:
    """States of distinct prompts; what `encode` gives for a list of new ones is kept up to a number of bytes."""

    def __init__(self, encode: Callable[[list[str]], Sequence[Tensor] | Tensor], limit: int = PROMPT_BYTES) -> None:
        self.encode, self.limit = encode, limit
        self._states: OrderedDict[str, Tensor] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._states)

    @property
    def bytes(self) -> int:
        """Memory that is held now."""
        return self._bytes

    def lookup(self, prompts: Iterable[str]) -> dict[str, Tensor]:
        """The states of every prompt, all of them even where they are more than the cache may keep."""
        needed = set(prompts)
        states = {text: self._states[text] for text in needed if text in self._states}
        new = sorted(needed - states.keys())
        if new:
            states |= zip(new, self.encode(new), strict=True)
        for text in sorted(needed):
            self._keep(text, states[text])
        while self._bytes > self.limit:
            self._bytes -= self._states.popitem(last=False)[1].nbytes
        return states

    def _keep(self, text: str, state: Tensor) -> None:
        if text not in self._states:
            # a row of a batch is a view that would hold the memory of all its neighbours
            self._states[text] = state.clone()
            self._bytes += state.nbytes
        self._states.move_to_end(text)
