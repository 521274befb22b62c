"""What is known of each published set: file, checksum, size, origin, and its place on OpenML."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .benchmark_sets import BENCHMARK_SETS
from .entries import OpenMLSource, PublishedSet
from .larger_sets import LARGER_SETS

__all__ = ["CATALOGUE", "OpenMLSource", "PublishedSet"]

CATALOGUE: Mapping[str, PublishedSet] = MappingProxyType(
    {
        published.name: published
        for published in sorted((*BENCHMARK_SETS, *LARGER_SETS), key=lambda entry: entry.name)
    }
)
