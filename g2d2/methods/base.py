"""What a method is: settings of its own, the kinds of prior and operator it needs, and how a batch is restored."""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch
from torch import Tensor

from g2d2.methods.recording import Recorder, Solution
from g2d2.methods.settings import MethodSettings
from g2d2.priors.base import Prior, PriorFacts
from g2d2.randomness import RowRandom
from operators import InputError, Operator, check_measurement
from operators.validation import did_you_mean, validate

SettingsT = TypeVar("SettingsT", bound=MethodSettings)
APrior = TypeVar("APrior", bound=Prior | None)


@dataclass(frozen=True)
class Batch(Generic[SettingsT]):
    """Measurements that are restored together, on the device that does it; a row's result depends on its row alone."""

    operator: Operator
    y: Tensor  # (B, *y_shape)
    sigma: Tensor  # (B,), the noise level of each row; 0 where nobody knows it
    settings: Sequence[SettingsT]
    prompts: Sequence[str]
    seeds: Sequence[int]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def shared(self) -> SettingsT:
        """Carries what all rows have in common; its free fields are the first row's."""
        return self.settings[0]

    @cached_property
    def random(self) -> RowRandom:
        """The draws of every row, from its own seed."""
        return RowRandom(self.seeds, self.y.device, self.y.dtype)

    def reseeded(self, sample: int) -> Self:
        """The same rows with seeds for one more sample of each; sample 0 has the rows' own."""
        if sample == 0:
            return self
        texts = (f"{seed}/sample/{sample}".encode() for seed in self.seeds)
        return replace(self, seeds=[int.from_bytes(blake2b(text, digest_size=7).digest(), "big") for text in texts])

    def vector(self, name: str, dims: int, dtype: torch.dtype | None = None) -> Tensor:
        """A free setting of every row, to broadcast over tensors of so many axes, in y's dtype by default. (B, ..)"""
        values = [getattr(row, name) for row in self.settings]
        return torch.tensor(values, dtype=dtype or self.y.dtype, device=self.y.device).view(-1, *[1] * (dims - 1))


class Method(Generic[SettingsT, APrior]):
    """One way to restore x from y. A subclass names what it needs and implements `restore`, its algorithm box."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised when the same settings give another result: it is part of every result's id."""
    Settings: ClassVar[type[MethodSettings]] = MethodSettings
    prior: ClassVar[type[Prior] | None] = None
    """The kind of prior it needs; None: it takes none."""
    operator: ClassVar[type[Operator]] = Operator
    """The kind of operator it needs, such as `Linear` or `Spectral`."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}
    """Changes to the settings' defaults by name; the first is taken where none is named."""
    experiments: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {}
    """By preset and name of an experiment, further changes: the rows of a paper's table of hyper-parameters."""
    compared: ClassVar[str | None] = None
    """The setting whose values people hold against each other, where a grid varies it and nobody says otherwise."""
    advice: ClassVar[str] = ""
    """What to try where a row diverged."""

    def restore(self, prior: APrior, batch: Batch[SettingsT], record: Recorder) -> Tensor:
        """x of every row. No value is read on the host here: a GPU would wait for it. (B, *x_shape)"""
        raise NotImplementedError

    def check(self, facts: PriorFacts | None, operator: Operator, settings: SettingsT, prompt: str = "") -> None:
        """Refuse with one sentence what could never be restored; nothing heavy is loaded."""
        self.check_prior(facts, settings)
        self.check_operator(operator)
        if facts is not None and (misfit := facts.x_misfit(operator.signal, operator.x_shape)) is not None:
            raise InputError(f"{misfit.field}: {misfit.reason}; {misfit.remedy}.")

    def check_prior(self, facts: PriorFacts | None, settings: SettingsT) -> None:
        """Refuse a prior that is not of the kind needed, and settings that it cannot take."""
        if self.prior is None:
            return
        if facts is None:
            raise InputError(f"prior: method {self.name!r} needs a prior of kind {kind_name(self.prior)}; name one.")
        if not issubclass(facts.kind, self.prior):
            raise InputError(
                f"prior: method {self.name!r} needs a prior of kind {kind_name(self.prior)}, and this one is "
                f"{kind_name(facts.kind)}."
            )
        steps = getattr(settings, "steps", None)
        if steps is not None and facts.train_steps is not None and steps > facts.train_steps:
            raise InputError(
                f"steps: {steps} is more than the prior's {facts.train_steps} training steps; use 1 to "
                f"{facts.train_steps}."
            )

    def check_operator(self, operator: Operator) -> None:
        """Refuse an operator that is not of the kind needed."""
        if not isinstance(operator, self.operator):
            raise InputError(
                f"operator: method {self.name!r} needs one that is {kind_name(self.operator)}, and "
                f"{operator.name} is not."
            )

    def settings(self, preset: str | None = None, experiment: str | None = None, **changes: Any) -> SettingsT:
        """A preset with an experiment's row and changes on top, checked."""
        values = dict(_named(self.presets, "preset", preset or next(iter(self.presets))))
        if experiment is not None:
            rows = self.experiments.get(preset or next(iter(self.presets)), {})
            values |= _named(rows, "experiment", experiment)
        return self.validated(values | changes)

    def validated(self, values: Mapping[str, Any]) -> SettingsT:
        """Settings from plain values; an error names the key and what is allowed."""
        settings: SettingsT = validate(self.Settings, values, where=f"settings of {self.name}")  # type: ignore[assignment]
        return settings

    def work(self, settings: SettingsT) -> tuple[float, ...]:
        """How much a row costs, in units that add up: its seconds are a weighted sum of these."""
        return (1.0,)

    def trials(self, settings: SettingsT) -> list[SettingsT]:
        """Short versions of these settings, as many as `work` has units, from which a cost is estimated."""
        return [settings]

    def run(
        self,
        prior: APrior,
        operator: Operator,
        y: Tensor,
        settings: SettingsT | Sequence[SettingsT],
        *,
        prompts: str | Sequence[str] = "",
        seeds: Sequence[int],
        sigma: float | Sequence[float] = 0.0,
        snapshots_at: Collection[int] = (),
        on_step: Callable[[int, int], object] | None = None,
    ) -> Solution:
        """Restore a batch of measurements y (B, ...); every free setting, prompt and seed is the row's own.

        `snapshots_at` names steps t at which a picture of the way is kept; `on_step` is told (steps done, in all).
        """
        batch = self.batch(prior, operator, y, settings, prompts=prompts, seeds=seeds, sigma=sigma)
        record = Recorder(batch.y.device, snapshots_at, on_step)
        return record.finish(self.restore(prior, batch, record), self.advice, operator.signal)

    def batch(
        self,
        prior: APrior,
        operator: Operator,
        y: Tensor,
        settings: SettingsT | Sequence[SettingsT],
        *,
        prompts: str | Sequence[str],
        seeds: Sequence[int],
        sigma: float | Sequence[float] = 0.0,
    ) -> Batch[SettingsT]:
        """The rows on the prior's device, or one sentence on why they cannot be restored together."""
        if self.prior is not None and not isinstance(prior, self.prior):
            raise InputError(
                f"prior: method {self.name!r} needs a prior of kind {kind_name(self.prior)}, "
                f"not {type(prior).__name__}."
            )
        self.check_operator(operator)
        if prior is not None and not prior.takes(operator.signal, operator.x_shape):
            raise InputError(
                f"operator: made for {operator.signal} {operator.x_shape}, the prior: {prior.signal} {prior.x_shape}."
            )
        check_measurement(operator, y)
        count = len(y)
        per_row = [settings] * count if isinstance(settings, MethodSettings) else list(settings)
        texts = [prompts] * count if isinstance(prompts, str) else list(prompts)
        levels = [float(sigma)] * count if isinstance(sigma, int | float) else [float(level) for level in sigma]
        for field, values in (("settings", per_row), ("prompts", texts), ("seeds", seeds), ("sigma", levels)):
            if len(values) != count:
                raise InputError(f"{field}: {len(values)} given for {count} measurements; give one per row.")
        for field in self.Settings.shared_fields():
            distinct = {getattr(row, field) for row in per_row}
            if len(distinct) > 1:
                values_text = ", ".join(str(value) for value in sorted(distinct, key=str))
                raise InputError(f"{field}: rows of one batch must agree, but have {values_text}.")
        device = y.device if prior is None else prior.device
        dtype = torch.float32 if prior is None else prior.dtype
        # the caller's own stays as it is; without networks beside it, it loses nothing of its precision
        own = deepcopy(operator)
        return Batch(
            operator=own.to(device) if prior is None else own.to(device, dtype),
            y=y.to(device, dtype),
            sigma=torch.tensor(levels, dtype=dtype, device=device),
            settings=per_row,
            prompts=texts,
            seeds=list(seeds),
        )

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()


def kind_name(kind: type) -> str:
    """A kind of prior or operator as people write it: `discrete`, `linear`."""
    return kind.__name__.lower()


def _named(table: Mapping[str, Any], field: str, name: str) -> Any:
    if name not in table:
        known = ", ".join(table) or "none"
        raise InputError(f"{field}: {name!r} is unknown{did_you_mean(name, table)}; choose one of {known}.")
    return table[name]
