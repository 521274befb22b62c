"""What a command says: data to standard output, messages and progress to standard error, and how it ends."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import BudgetError, DataFormatError, ModelFormatError

# How a command ends.
FAILURE, USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED = 1, 2, 3, 4, 130
# Without a terminal a line in so many seconds says how far it is; a bar is drawn so often.
SECONDS_A_LINE, SECONDS_A_FRAME = 10.0, 0.1


class Interrupted(Exception):
    """A fit was interrupted and what was there has been kept."""


class Output:
    """Where a command writes.

    Parameters
    ----------
    as_json : bool
        Whether standard output is for machines.
    quiet : bool
        Whether messages and progress are left out; errors are not.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet

    def say(self, text: str = "") -> None:
        """A message for people."""
        if not self.quiet:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def result(self, value: dict[str, Any], text: str) -> None:
        """What the command found: JSON for machines, text for people."""
        sys.stdout.write(
            (json.dumps(value, default=_plain, ensure_ascii=False) if self.as_json else text) + "\n"
        )
        sys.stdout.flush()

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> str:
        """A table as text: the first column to the left, the others to the right."""
        from io import StringIO

        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
        for j, name in enumerate(header):
            table.add_column(name, justify="right" if j else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        terminal = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        text = StringIO()
        Console(file=text, force_terminal=terminal, no_color=not terminal, width=160, highlight=False).print(
            table
        )
        return "\n".join(line.rstrip() for line in text.getvalue().rstrip().splitlines())

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show what is being done, how far it is and how long it will take: a bar, or without a terminal lines."""
        if self.quiet:
            yield
            return
        from ..progress import listening

        shown: Any = _Bar(what) if sys.stderr.isatty() else _Lines(what, self.say)
        with shown, listening(shown.hear):
            yield

    @contextmanager
    def warnings_as_messages(self) -> Iterator[list[str]]:
        """Say each warning once, as a sentence; gives what was said."""
        said: list[str] = []
        with warnings.catch_warnings():
            warnings.simplefilter("always")

            def show(message: Warning | str, *_: Any, **__: Any) -> None:
                text = " ".join(str(message).split())
                if text not in said:
                    said.append(text)
                    self.say(f"Note: {text}")

            warnings.showwarning = show
            yield said


class _Lines:
    """Progress where there is no terminal: a line once in a while."""

    def __init__(self, what: str, say: Callable[[str], None]) -> None:
        self.what, self.say, self.clock, self.last = what, say, _clock(), time.monotonic()

    def __enter__(self) -> None: ...

    def __exit__(self, *ended: Any) -> None: ...

    def hear(self, event: Any) -> None:
        """A step of the work."""
        left = self.clock.left(event)
        if event.what and time.monotonic() - self.last > SECONDS_A_LINE:
            self.last = time.monotonic()
            self.say(f"  {self.what}: {_how_far(event, left)}")


class _Bar:
    """Progress on a terminal: a bar that goes away when the work is done."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")))
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
        )
        self.what, self.clock, self.last = what, _clock(), 0.0
        self.bar = Progress(*columns, console=console, transient=True)

    def __enter__(self) -> None:
        self.bar.start()
        self.task = self.bar.add_task(self.what, total=None)

    def __exit__(self, *ended: Any) -> None:
        self.bar.stop()

    def hear(self, event: Any) -> None:
        """A step of the work."""
        left = self.clock.left(event)
        if event.what and time.monotonic() - self.last > SECONDS_A_FRAME:
            self.last = time.monotonic()
            described = f"{self.what}: {_how_far(event, left)}"
            self.bar.update(self.task, description=described, completed=event.done, total=event.total)


def _clock() -> Any:
    from ..progress import Clock

    return Clock()


def _how_far(event: Any, left: float | None) -> str:
    from ..progress import time_in_words

    steps = f" {event.done:,} of {event.total:,}" if event.total else f" {event.done:,}" if event.done else ""
    return f"{event.what}{steps}" + ("" if left is None else f", about {time_in_words(left)} left")


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON has them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def ends_well(command: Callable[[], Any]) -> int:
    """Run a command; what can go wrong becomes one message, and an exit code that is given back.

    A traceback is shown only if SLIMSVM_TRACEBACK is set.
    """
    code, text = 0, ""
    try:
        command()
    except Interrupted:
        code = INTERRUPTED
    except KeyboardInterrupt:
        code, text = INTERRUPTED, "interrupted; nothing was written."
    except BrokenPipeError:  # the reader of standard output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ModelFormatError as error:
        code, text = BAD_MODEL, str(error)
    except DataFormatError as error:
        code, text = BAD_DATA, str(error)
    except (BudgetError, ImportError, OSError, MemoryError, TypeError, ValueError) as error:
        code, text = FAILURE, " ".join(str(error).split()) or type(error).__name__
        _show_traceback()
    except (ArithmeticError, AssertionError, LookupError, RuntimeError, AttributeError) as error:
        code = FAILURE
        text = (
            f"{type(error).__name__}: {error}. This should not happen; please report it with what "
            "SLIMSVM_TRACEBACK=1 shows."
        )
        _show_traceback()
    if text:
        sys.stderr.write(f"slimsvm: {text}\n")
    return code


def _show_traceback() -> None:
    if os.environ.get("SLIMSVM_TRACEBACK"):
        traceback.print_exc()


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def __call__(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.start
