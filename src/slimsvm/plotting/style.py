"""Colours that all pictures share, and the one way to matplotlib."""

from __future__ import annotations

from typing import Any

# Blue, orange, green, purple, red, sky, olive: distinct for colour-blind readers, in this order.
COLOURS = ("#2f6f9f", "#d9822b", "#3a8f6b", "#8a5fa8", "#b8433f", "#56a7d1", "#8c8a2b")
# and where colours are not seen at all
MARKERS = "osD^vP*"
INK = "#22272e"
GREY = "#57606a"
FAINT = "#d8dee4"


def pyplot(what: str) -> Any:
    """matplotlib.pyplot, for the display of this name."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{what} draws with matplotlib, which is not installed: pip install 'slimsvm[plot]'."
        ) from error
    return plt


def axes_for(what: str, ax: Any, size: tuple[float, float]) -> Any:
    """The axes given, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    return pyplot(what).subplots(figsize=size, layout="constrained")[1]


def plain_frame(ax: Any, sides: tuple[str, ...] = ("left", "bottom")) -> None:
    """A faint frame on these sides only, and ticks without marks."""
    ax.tick_params(colors=GREY, length=0)
    for side, spine in ax.spines.items():
        spine.set_visible(side in sides)
        spine.set_color(FAINT)


def two_colours() -> Any:
    """From blue over white to orange: for numbers with a sign."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("slimsvm", [COLOURS[0], "#ffffff", COLOURS[1]])
