"""Nothing large unannounced: memory is refused before it is taken, long work is announced before it begins.

`check_memory` compares what a step needs with a stated limit and with what is left to the process; a refusal is a
MemoryError that says the bytes, the limit and what to do. `announce` compares the time of the likely work with
`LONG_SECONDS`; above it there is a `LongFitWarning` with the estimate. Which algorithm runs depends on the stated
limits alone, never on the memory that happens to be free, so that the same data give the same model on every machine.
"""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import Any

from scipy import sparse

from .errors import LongFitWarning

# The largest n x n matrix held in memory; larger ones are worked through in blocks of columns.
DENSE_LIMIT_BYTES = 2 * 2**30
# The most kernel values of all rows with the vectors of a machine, n x m, held in memory.
COLUMNS_LIMIT_BYTES = 4 * DENSE_LIMIT_BYTES
# Numbers for the columns of CSR rows may take so many bytes, or so many times the bytes of the entries.
WIDE_BYTES, WIDE_TIMES = 2**25, 8.0
# Less than this is asked for without a look at what is left: looking costs up to a millisecond, and a process with
# less left fails by itself at once.
SMALL_BYTES = 2**24
# Work that likely takes longer is announced: what is shorter, people wait for.
LONG_SECONDS = 600.0
# Seconds for a kernel value and for each feature of it, on one core of 2020: good to a factor of two or three.
KERNEL_SECONDS, FEATURE_SECONDS = 3e-9, 2e-10
# An entry of a CSR row costs as much as this many features of a dense one.
CSR_ENTRY = 8.0
# Seconds for a multiplication and addition inside a product of matrices, and where it waits for memory.
PRODUCT_SECONDS, MEMORY_SECONDS = 1e-10, 1e-9

# The same inside libsvm, which computes one column after the other; an iteration looks at two of them. It takes about
# this many iterations for each row.
LIBSVM_SECONDS, LIBSVM_FEATURE_SECONDS, LIBSVM_ITERATIONS = 8e-8, 1e-9, 2.0
# What libsvm holds of each row besides its entries, in bytes: nodes, pointers, gradients, bounds, coefficients.
LIBSVM_ROW_BYTES = 200

# What works on any number of rows.
FEW_VECTORS = (
    "CompactSVC, FixedSizeLSSVC, MatchingPursuitSVC(n_candidates=59) or GreedyLSSVC(n_candidates=146, "
    "max_vectors=1000), of which each has its SVR"
)


def gigabytes(size: float) -> str:
    """A size in GiB, for messages.

    Examples
    --------
    >>> gigabytes(8.0 * 200_000**2), gigabytes(2.0**21)
    ('298 GiB', '0.00195 GiB')
    """
    return f"{size / 2**30:.3g} GiB"


def duration(seconds: float) -> str:
    """A time in words, rounded.

    Examples
    --------
    >>> duration(8.2), duration(280), duration(14_000), duration(4e5)
    ('8.2 seconds', '4.7 minutes', '3.9 hours', '4.6 days')
    """
    for unit, size in (("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0), ("second", 1.0)):
        if seconds >= 1.5 * size or unit == "second":
            return f"{seconds / size:.2g} {unit}s"
    raise AssertionError


def check_memory(
    needed: float, what: str, instead: str, *, limit: float = DENSE_LIMIT_BYTES, times: float = 1.0
) -> None:
    """Refuse what needs too much memory, before any is taken.

    Parameters
    ----------
    needed : float
        Bytes of one array.
    what : str
        What needs them: "the kernel matrix of 200000 rows needs".
    instead : str
        What to do, as in "use CompactSVC".
    limit : float
        The stated limit for the array.
    times : float
        Such arrays there will be at the same time; they must fit into what is left to the process.
    """
    if needed > limit:
        raise MemoryError(f"{what} {gigabytes(needed)}, above the limit of {gigabytes(limit)}; {instead}.")
    if times * needed > SMALL_BYTES and times * needed > (left := memory_left()):
        copies = "" if times == 1 else f" about {times:g} times, {gigabytes(times * needed)} in all"
        raise MemoryError(
            f"{what} {gigabytes(needed)}{copies}, and {gigabytes(left)} of memory are left; {instead}."
        )


def check_width(X: Any) -> None:
    """Refuse CSR rows of so many columns that a number for each takes far more memory than the rows."""
    if sparse.issparse(X):
        check_memory(
            8.0 * X.shape[1],
            f"X has entries in few of its {X.shape[1]} columns, and a number for each column needs",
            "leave out columns in which no row has an entry (X[:, np.unique(X.indices)])",
            limit=max(WIDE_BYTES, WIDE_TIMES * X.data.nbytes),
        )


def check_columns(n: int, m: int, instead: str, *, times: float = 1.0) -> None:
    """Refuse kernel values of n rows with m vectors that are too many to hold, as `check_memory` does."""
    what = f"the kernel values of {n} rows with {m} vectors need"
    check_memory(8.0 * n * m, what, instead, limit=COLUMNS_LIMIT_BYTES, times=times)


def announce(
    who: str, step: str, seconds: float, likely: float, *, most: float | None = None, instead: str
) -> None:
    """Warn before work that likely takes longer than `LONG_SECONDS`.

    Parameters
    ----------
    who : str
        Name of the estimator.
    step : str
        What is done again and again, as in "iterations".
    seconds : float
        Time of one.
    likely : float
        How many there will be, by experience.
    most : float or None
        How many there can be, where that is a number to live with.
    instead : str
        What to do.
    """
    if seconds * likely <= LONG_SECONDS:
        return
    bound = "" if most is None or most <= likely else f", at most {most:,.0f}"
    steps = f"{likely:,.0f} {step} of about {duration(seconds)} each{bound}"
    warnings.warn(
        f"{who}: this may take about {duration(seconds * likely)} ({steps}); {instead}.",
        LongFitWarning,
        stacklevel=2,
    )


def announce_libsvm(who: str, X: Any, max_iter: int, cache_size: float, *, n_outputs: int = 1) -> None:
    """Announce the time of libsvm on these rows, and refuse where its memory, which it does not check, is not there."""
    n = X.shape[0]
    entries = 2.0 * X.nnz if sparse.issparse(X) else float(X.shape[0]) * X.shape[1]
    check_memory(
        min(cache_size * 2.0**20, 4.0 * n * n) + 8.0 * entries + LIBSVM_ROW_BYTES * n,
        f"libsvm, with cache_size={cache_size:g} and {n} rows, needs",
        "lower cache_size, or give fewer rows",
        limit=math.inf,
    )
    seconds = 2.0 * n * (LIBSVM_SECONDS + LIBSVM_FEATURE_SECONDS * entries / max(1, n))
    most = math.inf if max_iter < 0 else float(max_iter) * n_outputs
    announce(
        who,
        "iterations of libsvm, which cannot be interrupted,",
        seconds,
        min(LIBSVM_ITERATIONS * n * n_outputs, most),
        most=None if max_iter < 0 else most,
        instead=f"lower max_iter, give fewer rows, or use {FEW_VECTORS}",
    )


def kernel_seconds(n_values: float, X: Any, n_threads: int = 1) -> float:
    """Time for so many kernel values of rows like those of X."""
    features = CSR_ENTRY * X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else X.shape[1]
    return n_values * (KERNEL_SECONDS + features * FEATURE_SECONDS) / n_threads


def pass_seconds(X: Any, n_threads: int = 1) -> float:
    """Time for all kernel values of the rows of X with each other, once."""
    return kernel_seconds(float(X.shape[0]) ** 2, X, n_threads)


def memory_left() -> float:
    """Bytes this process may still take: of its own limit, of its control group's and of the machine.

    Infinite where nothing is known, as outside Linux.
    """
    return max(0.0, min(address_space_left(), _left_of_machine(), _left_of_group()))


def address_space_left() -> float:
    """Bytes left of the limit that `ulimit -v` sets."""
    try:
        import resource  # not on Windows
    except ImportError:
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return math.inf
    pages = _words("/proc/self/statm")
    return limit - int(pages[0]) * float(os.sysconf("SC_PAGESIZE")) if pages else float(limit)


def _left_of_machine() -> float:
    known = _table("/proc/meminfo")
    if "MemAvailable:" not in known:
        return math.inf
    return 1024.0 * (known["MemAvailable:"] + known.get("SwapFree:", 0))


# Where control groups keep the limit, the use, and the name of the file cache that gives way, in versions 2 and 1.
GROUPS = (
    ("", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "memory",
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def _left_of_group() -> float:
    """The least that a control group of the process, or one around it, has left."""
    left = math.inf
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, own = line.split(":", 2)
        for controller, root, limit, use, cache in GROUPS:
            if controller != controllers:
                continue
            for group in (own, *map(str, Path(own).parents)):
                folder = root + group
                allowed, used = _words(f"{folder}/{limit}"), _words(f"{folder}/{use}")
                if allowed and used and allowed[0].isdigit():
                    gives_way = _table(f"{folder}/memory.stat").get(cache, 0)
                    left = min(left, float(allowed[0]) - float(used[0]) + gives_way)
    return left


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _words(path: str) -> list[str]:
    return _text(path).split()


def _table(path: str) -> dict[str, int]:
    """The first number of each line, by its first word."""
    lines = (line.split() for line in _text(path).splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}
