"""`--dask`: files are read and chunks worked on by the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..chunks.passes import Passes
from ..errors import BudgetError
from ..reading import FileChunks
from ..reading.chunks import chunks_of
from ..reading.files import How, data_files
from ..reading.many import parts_of, surveyed
from ..reading.survey import Survey
from ..reading.table import NoRows, Table, wrong
from .data import say_filled
from .options import Columns, Format
from .output import Output

MISSING = "--dask needs packages that are not installed ({error}): pip install 'slimsvm[dask]'"


class Cluster:
    """The workers at an address.

    Parameters
    ----------
    client : dask.distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def read(
        self,
        paths: Sequence[str],
        options: Columns,
        format: Format,
        say: Output,
        *,
        impute: bool,
        ignore_unknown: bool,
    ) -> FileChunks:
        """A reader of files that the workers can open under the same names; each worker surveys some of them."""
        files, how = data_files(paths), format.how(options.categorical)
        if files == ("-",):
            raise wrong("standard input", None, "the workers cannot read it; give files.")
        files = tuple(map(os.path.abspath, files))
        asked: dict[str, Any] = {"target": options.target, "drop": options.drop, "impute": impute}
        first = next(iter(parts_of(files, how)))
        index = first.index if isinstance(first, Table) else None
        survey = partial(_survey, how=how, index=index, **asked)
        found: list[Survey | None] = self.client.gather(self.client.map(survey, files, pure=False))
        known = [one for one in found if one is not None]
        total = known[0]
        for one in known[1:]:
            total = total.merge(one)
        say_filled(say, {name: column.n_missing for name, column in total.columns} if impute else {})
        return chunks_of(files, how, total, **asked, task=options.task, ignore_unknown=ignore_unknown)

    def passes(self, reader: FileChunks) -> Passes:
        """Passes over the chunks of a reader, each read where it is worked on."""
        from dask.delayed import delayed

        from ..dask import DaskPasses

        later: Any = delayed
        blocks = [later(piece, pure=False)() for piece in reader.pieces()]
        passes: Passes = DaskPasses(blocks, classify=reader.classify, client=self.client)
        return passes


def _survey(file: str, *, how: How, index: bool | None, **asked: Any) -> Survey | None:
    """What a file has; None where it has no rows."""
    try:
        return surveyed((file,), how, index=index, **asked)[0]
    except NoRows:
        return None


@contextmanager
def cluster_at(address: str | None) -> Iterator[Cluster | None]:
    """The cluster at an address, such as tcp://host:8786; None without one."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client

        from .. import dask as ours  # noqa: F401
    except ImportError as error:
        raise BudgetError(MISSING.format(error=error)) from None
    try:
        connect: Any = Client
        client = connect(address)
    except (OSError, ValueError) as error:
        raise BudgetError(f"there is no Dask scheduler at {address} ({error}).") from None
    with client:
        yield Cluster(client)
