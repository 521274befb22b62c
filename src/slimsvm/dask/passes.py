"""Passes over blocks of a Dask collection: a task for each block, merged by tasks in the tree of `chunks.passes`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import dask
from dask.delayed import Delayed, delayed

from ..chunks.blocks import checked
from ..chunks.passes import fold, merged, of_block
from ..progress import tell
from .modules import check_workers, modules_of, modules_of_blocks

T = TypeVar("T")

# How often a task that failed is tried again.
RETRIES = 2
# Blocks that take at most this share of the workers' memory stay there between passes, and are read once.
KEPT_SHARE = 0.25
# Seconds between two looks at a task, and those after which a scheduler that does not answer counts as gone.
LOOK_SECONDS, LOST_SECONDS = 0.05, 15.0


class DaskPasses:
    """All rows of some blocks, worked on by Dask.

    Parameters
    ----------
    blocks : sequence of Delayed
        Each gives a chunk (X, y) or (X, y, sample_weight).
    classify : bool
    client : distributed.Client or None
        None takes the default client, and Dask's threads in this process where there is none.
    deadline : float or None
        Seconds after which a fit is given up, from the first pass on.
    n_bytes : float or None
        What all blocks take, if it is known: few enough of them stay in the workers' memory between passes. What a lost
        worker had is read again.
    """

    def __init__(
        self,
        blocks: Sequence[Delayed],
        *,
        classify: bool,
        client: Any = None,
        deadline: float | None = None,
        n_bytes: float | None = None,
    ) -> None:
        self._blocks, self._classify = list(blocks), classify
        self._client = default_client() if client is None else client
        self._modules: set[str] = set()
        self._check_modules(modules_of_blocks, self._blocks)
        if self._client is not None and n_bytes is not None and n_bytes <= KEPT_SHARE * memory(self._client):
            self._blocks = list(self._client.persist(self._blocks, retries=RETRIES))
        self._deadline = None if deadline is None else time.monotonic() + deadline

    def run(self, function: Callable[..., T], merge: Callable[[T, T], T], what: str) -> T:
        """As `slimsvm.chunks.passes.Passes` says."""
        self._check_modules(modules_of, function, merge)
        # one node of the graph each, which all tasks share: a model is sent to a worker once
        name = uuid.uuid4().hex
        work = delayed(function, name=f"slimsvm-work-{name}", traverse=False)
        join = delayed(merge, name=f"slimsvm-merge-{name}", traverse=False)
        parts = [
            delayed(_of_chunk, pure=False)(work, block, f"block {number}", self._classify)
            for number, block in enumerate(self._blocks)
        ]
        root = fold(parts, lambda first, second: delayed(merged, pure=False)(join, first, second))
        found = None if root is None else self._result(root, parts)
        if found is None:
            raise ValueError("there are no rows: the blocks are empty, or all weights are zero.")
        tell(what, len(parts), len(parts))
        return found

    def _check_modules(self, named_by: Callable[..., set[str]], *sent: Any) -> None:
        """Ask the workers for the modules that they have not been asked for."""
        if self._client is None:
            return
        new = named_by(*sent) - self._modules
        if new:
            try:
                check_workers(self._client, new)
            except OSError as error:
                raise _lost(self._client) from error
            self._modules |= new

    def _result(self, root: Delayed, parts: list[Delayed]) -> Any:
        if self._client is None:
            return root.compute(scheduler="threads")
        from distributed import KilledWorker

        try:
            return self._computed(root)
        except KilledWorker as error:
            raise self._culprit(parts, error) from error

    def _computed(self, task: Delayed) -> Any:
        """What a task gives; an error when the time is up or the scheduler is gone."""
        future = self._client.compute(task, retries=RETRIES)
        last_heard = time.monotonic()
        try:
            while not future.done():
                now = time.monotonic()
                last_heard = now if self._client.status == "running" else last_heard
                if self._client.status == "closed" or now - last_heard > LOST_SECONDS:
                    raise _lost(self._client)
                if self._deadline is not None and now > self._deadline:
                    raise TimeoutError("the fit was not done by its deadline; raise it, or add workers.")
                time.sleep(LOOK_SECONDS)
            if future.status in ("cancelled", "lost"):
                raise _lost(self._client)
            return future.result()
        finally:
            future.release()

    def _culprit(self, parts: list[Delayed], error: Exception) -> Exception:
        """Which block it is that kills workers: the message of Dask may name one that was merely near."""
        from distributed import KilledWorker

        for number, part in enumerate(parts):
            try:
                self._computed(part)
            except KilledWorker:
                return RuntimeError(
                    f"block {number}: the workers that work on it die, one after the other; see their logs, and look "
                    "whether a worker has the memory for the block."
                )
        return RuntimeError(f"workers died, but none of the blocks alone kills one: {error}")


def default_client() -> Any:
    """The client that Dask would use, or None."""
    try:
        from distributed import default_client as current

        return current()
    except (ImportError, ValueError):
        return None


def memory(client: Any) -> float:
    """Bytes that all workers of a client may use."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return float(sum(worker["memory_limit"] for worker in workers))


def _lost(client: Any) -> ConnectionError:
    where = getattr(getattr(client, "scheduler", None), "address", None) or "the scheduler"
    return ConnectionError(
        f"the connection to Dask's scheduler ({where}) is lost; nothing was changed. Connect again, and fit again."
    )


def _of_chunk(function: Callable[..., T], chunk: Any, name: str, classify: bool) -> T | None:
    """What the function gives for a chunk that was found to be in order."""
    with dask.config.set(scheduler="synchronous"):
        return of_block(function, checked(chunk, name, classify=classify))
