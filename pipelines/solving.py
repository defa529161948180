"""One device's work: load the prior once, solve shards of work items, commit each shard whole."""

import io
import json
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from eval.scores import PROVENANCE, ROW_COSTS
from g2d2.priors import Prior, load_prior
from g2d2.settings import G2D2Settings
from g2d2.solver import Reconstruction
from g2d2.solvers import load_solver
from g2d2.trace import Trace
from operators import InputError, Operator, stack_operators
from operators.plurals import counted
from operators.sizes import size_words
from operators.validation import validate
from pipelines.attempts import DEATHS, HANGS, Attempts, Worker
from pipelines.images import encode_png, to_picture
from pipelines.layout import SweepFolder
from pipelines.manifest import build_row_operator, check_content, measurement
from pipelines.provenance import provenance
from pipelines.spec import Kept, Resources
from pipelines.storage import StoreError
from pipelines.watchdog import Limit, watchdog
from pipelines.work_items import ITEM_SCHEMA

SOLVED_SCHEMA = pa.schema(
    [
        *(ITEM_SCHEMA.field(name) for name in ("item", "measurement", "measurement_digest")),
        *(ITEM_SCHEMA.field(name) for name in ("manifest_shard", "manifest_row", "cell", "seed")),
        ("task", pa.string()),
        ("settings", pa.string()),
        ("error", pa.string()),
        ("image", pa.binary()),
        ("pixels", pa.list_(pa.float32())),
        ("trace", pa.binary()),
        ("peak_bytes", pa.int64()),
        *ROW_COSTS.items(),
        *PROVENANCE.items(),
    ]
)
"""A solved row: what came out, or why nothing did. `pixels` and `trace` are null unless asked for."""

_CARRIED = SOLVED_SCHEMA.names[: SOLVED_SCHEMA.names.index("error")]
_LARGEST_AUTO_BATCH = 16
_CALIBRATION_SHARE = 0.8


@dataclass(frozen=True)
class SolverConfig:
    """What an actor needs to know."""

    output: str
    prior: str
    prior_digest: str
    """Of the prior that the work was planned with; a worker that finds another one refuses."""
    method: str
    resources: Resources
    keep: Kept
    threads: int | None
    run: str = ""
    """This run of the sweep: what an earlier one left unfinished says nothing about this one's workers."""


@dataclass(frozen=True)
class Row:
    """A work item that can be solved."""

    position: int
    item: str
    operator: Operator
    y: Tensor
    settings: G2D2Settings
    prompt: str
    seed: int


class ShardSolver:
    """Callable on a shard of work items with their measurements; returns a line about what was committed."""

    def __init__(
        self,
        config: SolverConfig,
        load: Callable[..., Prior] = load_prior,
        node: str = "",
        living: Callable[[], Iterable[str]] = tuple,
    ):
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        started, resources = time.perf_counter(), config.resources
        self.config, self.folder = config, SweepFolder(config.output)
        self.prior = load(
            config.prior,
            device=device,
            dtype=resources.dtype,
            channels_last=resources.channels_last,
            compile_networks=resources.compile,
            rows=_LARGEST_AUTO_BATCH if resources.batch == "auto" else resources.batch,
            digest=config.prior_digest,
        )
        self.solve = load_solver(config.method)
        self.batch = None if resources.batch == "auto" else resources.batch
        self.device = f"{device_name(self.prior.device)} {socket.gethostname()}:{os.getpid()}"
        self.news = f"{self.device}: prior {config.prior} loaded in {time.perf_counter() - started:.1f} s"
        self.provenance = provenance(resources)
        self.worker = Worker(config.run, self.device, node, living)
        self.limit = Limit(resources.batch_timeout)

    def __call__(self, shard: str, items: list[dict[str, Any]]) -> dict[str, Any]:
        """Solve every row of a shard, or say why not, and commit."""
        started = time.perf_counter()
        out: list[dict[str, Any]] = [
            dict.fromkeys(SOLVED_SCHEMA.names) | {k: item[k] for k in _CARRIED} for item in items
        ]
        attempts = Attempts.open(self.folder, shard, self.worker)
        rows: list[Row] = []
        for position, item in enumerate(items):
            try:
                rows.append(self._prepare(position, item))
                refuse_repeated(attempts, item["item"])
            except InputError as error:
                out[position]["error"] = str(error)
        rows = [row for row in rows if out[row.position]["error"] is None]
        if rows and self.batch is None:
            self.batch = self._fitting_batch(rows[0])
        suspected = {row.item for row in rows if attempts.hangs(row.item) or attempts.deaths(row.item) > 1}
        for row in rows:
            if row.item in suspected:  # alone, the one that stops or ends its worker shows itself
                self._solve_in_batches([row], out, attempts)
        self._solve_in_batches([row for row in rows if row.item not in suspected], out, attempts)
        self.folder.store.write_table(self.folder.solved_name(shard), pa.Table.from_pylist(out, schema=SOLVED_SCHEMA))
        attempts.done()
        failed = sum(row["error"] is not None for row in out)
        told, self.news = "\n".join(filter(None, [self.news, what_happened(shard, attempts)])), ""
        return {
            "shard": shard, "rows": len(out), "failed": failed, "device": self.device,
            "seconds": time.perf_counter() - started, "told": told,
        }  # fmt: skip

    def _prepare(self, position: int, item: dict[str, Any]) -> Row:
        """Check a row by itself: a bad one must not reach its neighbours' batch."""
        check_content(item, item["content_digest"], item["measurement_digest"])
        operator, y = build_row_operator(item), measurement(item)
        if operator.image_shape != self.prior.image_shape:
            raise InputError(
                f"measurement {item['measurement']}: its images are {size_words(operator.image_shape)}, the prior's "
                f"{size_words(self.prior.image_shape)}; build the manifest for this size."
            )
        settings = validate(G2D2Settings, json.loads(item["settings"]), where="solver settings")
        self.prior.schedule.levels(settings.steps)
        self.prior.encode_prompts([item["prompt"]], [settings.guidance])
        return Row(position, item["item"], operator, y, settings, item["prompt"], item["solver_seed"])

    def _solve_in_batches(self, rows: list[Row], out: list[dict[str, Any]], attempts: Attempts) -> None:
        todo = list(rows)
        while todo:
            size = min(self.batch or len(todo), len(todo))
            batch, todo = todo[:size], todo[size:]
            try:
                self._keep(batch, self._attempt(batch, attempts), out)
            except StoreError:  # no row's fault: the shard is not committed, and solved when the store is back
                raise
            except torch.AcceleratorError:
                traceback.print_exc()
                os._exit(1)  # the device is of no more use to this process; a new one sees what it was working on
            except torch.OutOfMemoryError as error:
                if size == 1:
                    out[batch[0].position]["error"] = f"out of device memory with one row: {_one_line(error)}"
                    continue
                torch.cuda.empty_cache()
                self.batch = max(1, size // 2)
                todo = batch + todo
            except Exception as error:
                if size == 1:
                    out[batch[0].position]["error"] = f"{type(error).__name__}: {_one_line(error)}"
                    continue
                for row in batch:  # one of them is bad: alone, each shows what it is
                    self._solve_in_batches([row], out, attempts)

    def _attempt(self, rows: Sequence[Row], attempts: Attempts) -> Reconstruction:
        attempts.begin([row.item for row in rows])
        started, work = time.perf_counter(), sum(row.settings.steps * row.settings.iterations for row in rows)
        with watchdog(self.limit.seconds(work), attempts.hung):
            result = self._solve(rows)
        self.limit.learn(work, time.perf_counter() - started)
        return result

    def _solve(self, rows: Sequence[Row], settings: Sequence[G2D2Settings] | None = None) -> Reconstruction:
        return self.solve(
            self.prior,
            stack_operators([row.operator for row in rows]).to(self.prior.device),
            torch.stack([row.y for row in rows]).to(self.prior.device),
            settings or [row.settings for row in rows],
            prompts=[row.prompt for row in rows],
            seeds=[row.seed for row in rows],
            prior_samples_at=() if settings else self.config.keep.prior_samples_at,
        )

    def _keep(self, rows: Sequence[Row], result: Reconstruction, out: list[dict[str, Any]]) -> None:
        keep = self.config.keep
        images = result.images.float().cpu()
        for index, row in enumerate(rows):
            image, record = images[index], out[row.position]
            record |= {
                **result.trace.row_costs(index), "peak_bytes": result.trace.peak_bytes,
                **self.provenance, "batch_rows": len(rows), "device": self.device,
            }  # fmt: skip
            record["error"] = result.fault(index)
            if record["error"] is not None:
                continue
            record["image"] = encode_png(to_picture(image))
            record["pixels"] = image.flatten().numpy() if keep.floats else None
            record["trace"] = trace_bytes(result.trace, index) if keep.traces else None

    def _fitting_batch(self, row: Row) -> int | None:
        """Rows that fit, from the memory of one and of two measured on a single short step; None where it failed."""
        if self.prior.device.type != "cuda":
            return _LARGEST_AUTO_BATCH
        short = row.settings.model_copy(update={"steps": 1, "iterations": 2})
        try:
            one, two = (self._solve([row] * count, [short] * count).trace.peak_bytes for count in (1, 2))
        except torch.OutOfMemoryError:
            return 1
        except (StoreError, torch.AcceleratorError):
            raise
        except Exception:  # the row is bad, which its own attempt will say
            return None
        free, _ = torch.cuda.mem_get_info(self.prior.device)
        room = _CALIBRATION_SHARE * (free + torch.cuda.memory_reserved(self.prior.device)) - one
        return max(1, 1 + int(room / max(1, two - one)))


def refuse_repeated(attempts: Attempts, item: str) -> None:
    """Nothing may block a sweep for ever: what keeps stopping or ending its worker gets an error instead."""
    devices = ", ".join(dict.fromkeys(attempt.device for attempt in attempts.failed if item in attempt.items))
    if attempts.hangs(item) >= HANGS:
        raise InputError(f"it took longer than resources.batch_timeout {attempts.hangs(item)} times, on {devices}")
    if attempts.deaths(item) >= DEATHS:
        raise InputError(f"its worker died {attempts.deaths(item)} times while solving it, on {devices}")


def what_happened(shard: str, attempts: Attempts) -> str:
    """A sentence for each attempt that failed; empty if none did."""
    fates = {"hung": "took longer than resources.batch_timeout", "died": "ended with its worker's death"}
    return "\n".join(
        f"shard {shard}: a batch of {counted(len(attempt.items), 'row')} {fates[attempt.fate]} on {attempt.device} and "
        f"was tried again; its ids are {', '.join(attempt.items)}"
        for attempt in attempts.failed
    )


def trace_bytes(trace: Trace, index: int) -> bytes:
    """One row's trace as a compressed `.npz`."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **trace.row(index))
    return buffer.getvalue()


def device_name(device: torch.device) -> str:
    """The GPU's name, or cpu."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
