"""The modules that tasks name: a worker that lacks one dies of the first such message, and its successors do too."""

from __future__ import annotations

import io
from collections.abc import Iterable
from importlib.metadata import version
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import cloudpickle
import numpy as np

# What is data and no code: of no interest here, and large.
DATA = (np.ndarray, bytes, bytearray, str)
PACKAGE = __name__.partition(".")[0]


class _Reading(cloudpickle.Pickler):
    """Goes through what is sent, as sending it would, and notes the modules that are named."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())
        self.names: set[str] = set()

    def persistent_id(self, value: Any) -> str | None:
        """Leave out data."""
        return "data" if isinstance(value, DATA) else None

    def reducer_override(self, value: Any) -> Any:
        """Functions and classes are sent by the name of their module, or in full where they have none."""
        how = super().reducer_override(value)
        if isinstance(value, ModuleType):
            self.names.add(value.__name__)
        elif how is NotImplemented and isinstance(value, type | FunctionType | BuiltinFunctionType):
            self.names.add(getattr(value, "__module__", None) or "builtins")
        return how


def modules_of(*sent: Any) -> set[str]:
    """Names of the modules that a process must have to take these values.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> from functools import partial
    >>> sorted(modules_of(partial(OrderedDict, a=1)))
    ['collections', 'functools']
    """
    reading = _Reading()
    for value in sent:
        try:
            reading.dump(value)
        except Exception:  # it cannot be sent: Dask says so better
            continue
    return reading.names


def modules_of_blocks(blocks: Iterable[Any]) -> set[str]:
    """Those that a worker must have to compute these blocks."""
    layers = {id(layer): layer for block in blocks for layer in block.dask.layers.values()}
    return modules_of(*(dict(layer) for layer in layers.values()))


def check_workers(client: Any, names: Iterable[str]) -> None:
    """Say which worker cannot import one of these modules, or has another version of this package."""

    # nested, so that it is sent in full: a worker need not have this package to answer
    def lacking(names: list[str], package: str) -> tuple[list[str], str]:
        from importlib import import_module
        from importlib.metadata import PackageNotFoundError, version

        found = []
        for name in names:
            try:
                import_module(name)
            except ImportError as error:
                found.append(f"{name} ({error})")
        try:
            return found, version(package)
        except PackageNotFoundError:
            return found, ""

    here, wanted = version(PACKAGE), sorted(names)
    answers = client.run(lacking, wanted, PACKAGE, on_error="ignore")
    for address, (missing, there) in sorted(answers.items()):
        if not there:
            raise ImportError(
                f"the worker {address} has no {PACKAGE}: install {PACKAGE} {here} where the workers run."
            )
        if there != here:
            raise ImportError(
                f"the worker {address} has {PACKAGE} {there}, but here is {here}: install the same version on both."
            )
        if missing:
            raise ImportError(
                f"the worker {address} cannot import {missing[0]}, which the rows or the kernel need: give the "
                "workers that module, as client.upload_file does for one file."
            )
