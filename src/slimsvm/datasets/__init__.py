"""Data: generators with known laws, and loaders for the published sets.

The ``make_*`` functions draw artificial data and need nothing. ``load`` and ``load_split`` read
published sets from files that are not part of the library; ``CATALOGUE`` says what each one is.
"""

from slimsvm.datasets.catalogue import CATALOGUE
from slimsvm.datasets.entries import OpenMLSource, PublishedSet
from slimsvm.datasets.generators import (
    make_banana,
    make_checkerboard,
    make_ringnorm,
    make_ripley,
    make_two_spirals,
    make_twonorm,
    make_waveform,
)
from slimsvm.datasets.published import load, load_split

__all__ = [
    "CATALOGUE",
    "OpenMLSource",
    "PublishedSet",
    "load",
    "load_split",
    "make_banana",
    "make_checkerboard",
    "make_ringnorm",
    "make_ripley",
    "make_two_spirals",
    "make_twonorm",
    "make_waveform",
]
