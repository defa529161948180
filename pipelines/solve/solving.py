"""One device's work: load each prior once, restore shards of work items, commit each shard whole."""

import gc
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import torch

from g2d2.methods import Method, MethodSettings, Solution, find_method
from g2d2.priors import Prior, PriorFacts, load_prior, locate_prior
from g2d2.priors.base import Discrete
from g2d2.priors.probe import ask
from operators import InputError, find_signal, stack_operators
from operators.plurals import counted
from pipelines.plan.sweep_spec import Kept, Resources
from pipelines.solve.attempts import DEATHS, HANGS, Attempts, Worker
from pipelines.solve.committing import SolvedShard
from pipelines.solve.machine_load import MachineLoad
from pipelines.solve.preparing import Row, prepare
from pipelines.solve.provenance import provenance
from pipelines.solve.watchdog import Limit, watchdog
from pipelines.storage import StoreError
from pipelines.storage.sweep_folder import SweepFolder

_LARGEST_AUTO_BATCH = 16
_CALIBRATION_SHARE = 0.8
_GUIDED = 2.0
"""A guidance scale at which every row takes two passes."""


@dataclass(frozen=True)
class SolverConfig:
    """What an actor needs to know."""

    output: str
    priors: dict[str, str]
    """Digests of the priors that the work was planned with; a worker that loads another one refuses."""
    resources: Resources
    keep: Kept
    threads: int | None
    run: str = ""
    """This run of the sweep: what an earlier one left unfinished says nothing about this one's workers."""


@dataclass(frozen=True)
class LoadedPrior:
    """The one prior that a device holds, and what its files say of it."""

    name: str
    prior: Prior | None
    facts: PriorFacts | None


class ShardSolver:
    """Callable on a shard of work items with their measurements; returns a line about what was committed."""

    def __init__(
        self,
        config: SolverConfig,
        load: Callable[..., Prior] = load_prior,
        node: str = "",
        living: Callable[[], Iterable[str]] = tuple,
        loading: Callable[[str], AbstractContextManager[object]] = nullcontext,
    ):
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        self.config, self.folder = config, SweepFolder(config.output)
        self.place = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.device = f"{device_name(self.place)} {socket.gethostname()}:{os.getpid()}"
        self.load, self.loading, self.loaded, self.news = load, loading, LoadedPrior("", None, None), list[str]()
        self.methods: dict[str, Method[Any, Any]] = {}
        self.warm: set[int] = set()
        """Rows of a batch with guidance that the networks of the prior at hand are compiled for."""
        self.sizes: dict[tuple[Any, ...], int | None] = {}
        """Rows of a batch that fit, by prior and method."""
        self.provenance = provenance(config.resources)
        self.worker = Worker(config.run, self.device, node, living)
        self.machine = MachineLoad(socket.gethostname(), self.place)
        self.limit = Limit(config.resources.batch_timeout)

    def __call__(self, shard: str, items: list[dict[str, Any]]) -> dict[str, Any]:
        """Solve every row of a shard, or say why not, and commit."""
        started = time.perf_counter()
        work = ShardWork(self, shard, items)
        work.solve()
        work.out.commit()
        work.attempts.done()
        messages, self.news = [*self.news, *what_happened(shard, work.attempts)], []
        return {
            "shard": shard, "rows": len(items), "failed": work.out.failures, "device": self.device,
            "seconds": time.perf_counter() - started, "messages": messages, "load": self.machine.sample(),
        }  # fmt: skip

    def method(self, name: str) -> Method[Any, Any]:
        """The method of this name; a module of the user's own is imported once."""
        if name not in self.methods:
            with self.loading(f"method {name}"):
                self.methods[name] = find_method(name)
        return self.methods[name]

    def hold(self, name: str) -> LoadedPrior:
        """The prior of this name; the one held before is let go, since work is sorted by prior."""
        if self.loaded.name == name:
            return self.loaded
        self.loaded = LoadedPrior("", None, None)
        self.warm.clear()
        if self.config.resources.compile:
            torch.compiler.reset()  # graphs of the prior before would count against torch's limits, and hold memory
        gc.collect()  # a prior holds functions of its own, so that only the collector frees it
        if self.place.type == "cuda":
            torch.cuda.empty_cache()
        if not name:
            return self.loaded
        started, resources = time.perf_counter(), self.config.resources
        with self.loading(f"prior {name}"):
            prior = self.load(
                name,
                device=self.place,
                dtype=resources.dtype,
                channels_last=resources.channels_last,
                compile_networks=resources.compile,
                rows=_LARGEST_AUTO_BATCH if resources.batch == "auto" else resources.batch,
                digest=self.config.priors[name],
            )
        self.news.append(f"{self.device}: prior {name} loaded in {time.perf_counter() - started:.1f} s")
        self.loaded = LoadedPrior(name, prior, locate_prior(name).facts())
        return self.loaded


class ShardWork:
    """One shard on a device: rows are prepared, solved in batches that fit, and gathered."""

    def __init__(self, device: ShardSolver, shard: str, items: list[dict[str, Any]]):
        self.device = device
        self.out = SolvedShard(device.folder, shard, items, device.config.keep)
        self.attempts = Attempts.open(device.folder, shard, device.worker)
        self.method = device.method(items[0]["method"])  # all items of a shard share method and prior
        self.loaded = device.hold(items[0]["prior"])
        self.rows: list[Row] = []
        for position, item in enumerate(items):
            try:
                row = prepare(position, item, self.method, self.loaded.facts)
                refuse_repeated(self.attempts, item["item"])
                self.rows.append(row)
            except InputError as error:
                self.out.fail(position, str(error))

    @property
    def batch(self) -> int | None:
        """Rows of a batch; None where nothing was tried yet and nothing is set."""
        setting = self.device.config.resources.batch
        return self.device.sizes.get(self._kind, None if setting == "auto" else setting)

    @batch.setter
    def batch(self, rows: int | None) -> None:
        self.device.sizes[self._kind] = rows

    @property
    def _kind(self) -> tuple[Any, ...]:
        return self.loaded.name, self.method.name

    def solve(self) -> None:
        """Restore all rows that can be; each that cannot gets its sentence."""
        if self.rows and self.batch is None:
            self.batch = self._fitting_batch(self.rows[0])
        self._warm_up()
        attempts = self.attempts
        suspected = {row.item for row in self.rows if attempts.hangs(row.item) or attempts.deaths(row.item) > 1}
        for row in self.rows:
            if row.item in suspected:  # alone, the one that stops or ends its worker shows itself
                self._in_batches([row])
        self._in_batches([row for row in self.rows if row.item not in suspected])

    def _warm_up(self) -> None:
        """Compile now what guidance asks of the networks, and not in the middle of a row's work and its seconds."""
        prior, device = self.loaded.prior, self.device
        guided = [row for row in self.rows if getattr(row.settings, "guidance", 1) not in (0, 1)]
        if not (device.config.resources.compile and isinstance(prior, Discrete) and guided):
            return
        if self._full_batch in device.warm:
            return
        device.warm.add(self._full_batch)
        with suppress(torch.OutOfMemoryError, InputError):  # said of the rows, when they are solved
            ask(prior, self._full_batch, _GUIDED)

    @property
    def _full_batch(self) -> int:
        return min(self.batch or 1, self.device.config.resources.shard)

    def _in_batches(self, rows: Sequence[Row]) -> None:
        todo = list(rows)
        while todo:
            size = min(self.batch or len(todo), len(todo))
            batch, todo = todo[:size], todo[size:]
            try:
                self.out.add(batch, self._attempt(batch), {**self.device.provenance, "device": self.device.device})
            except StoreError:  # no row's fault: the shard is not committed, and solved when the store is back
                raise
            except torch.AcceleratorError:
                traceback.print_exc()
                os._exit(1)  # the device is of no more use to this process; a new one sees what it was working on
            except torch.OutOfMemoryError as error:
                if size == 1:
                    self.out.fail(batch[0].position, f"out of device memory with one row: {_one_line(error)}")
                    continue
                torch.cuda.empty_cache()
                self.batch = max(1, size // 2)
                todo = batch + todo
            except Exception as error:
                if size == 1:
                    self.out.fail(batch[0].position, f"{type(error).__name__}: {_one_line(error)}")
                    continue
                for row in batch:  # one of them is bad: alone, each shows what it is
                    self._in_batches([row])

    def _attempt(self, rows: Sequence[Row]) -> Solution:
        self.attempts.begin([row.item for row in rows])
        started, work = time.perf_counter(), sum(self.method.work(row.settings)[-1] for row in rows)
        with watchdog(self.device.limit.seconds(work), self.attempts.hung):
            solution = self.run(rows)
        self.device.limit.learn(work, time.perf_counter() - started)
        return solution

    def run(self, rows: Sequence[Row], settings: Sequence[MethodSettings] | None = None) -> Solution:
        """Restore a batch, or a short version of it with other settings."""
        place, count = self.device.place, len(rows)
        if settings is None:
            rows = self._filled_up(rows)
        solution = self.method.run(
            self.loaded.prior,
            stack_operators([row.operator for row in rows]).to(place),
            find_signal(rows[0].signal).stack([row.y for row in rows]).to(place),
            settings or [row.settings for row in rows],
            prompts=[row.prompt for row in rows],
            seeds=[row.seed for row in rows],
            sigma=[row.sigma for row in rows],
            snapshots_at=() if settings else self.device.config.keep.snapshots_at,
        )
        return solution if len(rows) == count else solution.first(count)

    def _filled_up(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Where networks are compiled, a short batch repeats its last row: another size would be compiled anew."""
        size = self._full_batch if self.device.config.resources.compile else 0
        return [*rows, *[rows[-1]] * (size - len(rows))]

    def _fitting_batch(self, row: Row) -> int | None:
        """Rows that fit, from the memory of one and of two measured on a short trial; None where it failed."""
        if self.device.place.type != "cuda":
            return _LARGEST_AUTO_BATCH
        short = self.method.trials(row.settings)[0]
        try:
            one, two = (self.run([row] * count, [short] * count).peak_bytes for count in (1, 2))
        except torch.OutOfMemoryError:
            return 1
        except (StoreError, torch.AcceleratorError):
            raise
        except Exception:  # the row is bad, which its own attempt will say
            return None
        free, _ = torch.cuda.mem_get_info(self.device.place)
        room = _CALIBRATION_SHARE * (free + torch.cuda.memory_reserved(self.device.place)) - one
        return max(1, 1 + int(room / max(1, two - one)))


def refuse_repeated(attempts: Attempts, item: str) -> None:
    """Nothing may block a sweep for ever: what keeps stopping or ending its worker gets an error instead."""
    devices = ", ".join(dict.fromkeys(attempt.device for attempt in attempts.failed if item in attempt.items))
    if attempts.hangs(item) >= HANGS:
        raise InputError(f"it took longer than resources.batch_timeout {attempts.hangs(item)} times, on {devices}")
    if attempts.deaths(item) >= DEATHS:
        raise InputError(f"its worker died {attempts.deaths(item)} times while solving it, on {devices}")


def what_happened(shard: str, attempts: Attempts) -> list[str]:
    """A sentence for each attempt that failed."""
    fates = {"hung": "took longer than resources.batch_timeout", "died": "ended with its worker's death"}
    return [
        f"shard {shard}: a batch of {counted(len(attempt.items), 'row')} {fates[attempt.fate]} on {attempt.device} and "
        f"was tried again; its ids are {', '.join(attempt.items)}"
        for attempt in attempts.failed
    ]


def device_name(device: torch.device) -> str:
    """The GPU's name, or cpu."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
