from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Float = TypeVar("Float", np.float32, np.float64, Any)

def expansion(
    kind: str,
    gamma: float,
    coef0: float,
    degree: int,
    widths: NDArray[np.float64],
    X: NDArray[Float],
    vectors: NDArray[Float],
    coef: NDArray[Float],
    intercept: NDArray[Float],
    n_threads: int,
) -> NDArray[Float]: ...
def finite_expansion(
    widths: NDArray[np.float64],
    X: NDArray[Float],
    vectors: NDArray[Float],
    coef: NDArray[Float],
    intercept: NDArray[Float],
    n_threads: int,
) -> NDArray[Float] | None: ...
def gram(
    kind: str,
    gamma: float,
    coef0: float,
    degree: int,
    widths: NDArray[np.float64],
    X: NDArray[Float],
    vectors: NDArray[Float],
    n_threads: int,
) -> NDArray[Float]: ...
def box_cd(
    A: NDArray[Float],
    target: NDArray[Float],
    ridge: NDArray[Float],
    lower: NDArray[Float],
    upper: NDArray[Float],
    start: NDArray[Float],
    tol: float,
    max_epochs: int,
    seed: int,
) -> tuple[NDArray[Float], NDArray[Float], int, float]: ...
def pair_cd(
    G: NDArray[Float],
    target: NDArray[Float],
    lower: NDArray[Float],
    upper: NDArray[Float],
    start: NDArray[Float],
    tol: float,
    max_iterations: int,
) -> tuple[NDArray[Float], NDArray[Float], int, float]: ...
def active_set(
    G: NDArray[np.float64],
    target: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    start: NDArray[np.float64],
    free: NDArray[np.int64],
    factor: NDArray[np.float64],
    most_free: int,
    tol: float,
    max_looks: int,
    max_work: float,
) -> tuple[NDArray[np.float64], float, int, float]: ...
def refine(
    X: NDArray[np.float64],
    Y: NDArray[np.float64],
    weights: NDArray[np.float64],
    penalty: NDArray[np.float64],
    loss: str,
    rounding: float,
    epsilon: float,
    vectors: NDArray[np.float64],
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    log_widths: NDArray[np.float64],
    factor: NDArray[np.float64],
    widths: str,
    eliminate: bool,
    max_iterations: int,
    tol: float,
    memory: int,
) -> tuple[
    NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float, int, int
]: ...
def refine_map(
    X: NDArray[np.float64],
    Y: NDArray[np.float64],
    weights: NDArray[np.float64],
    penalty: NDArray[np.float64],
    loss: str,
    rounding: float,
    epsilon: float,
    matrix: NDArray[np.float64],
    decay: float,
    vectors: NDArray[np.float64],
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    factor: NDArray[np.float64],
    max_iterations: int,
    tol: float,
    memory: int,
) -> tuple[
    NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float, int, int
]: ...
def scaled_hinge(
    B: NDArray[np.float64],
    sign: NDArray[np.float64],
    columns: NDArray[np.int64],
    scale: NDArray[np.float64],
    target: NDArray[np.float64],
    upper: NDArray[np.float64],
    start: NDArray[np.float64],
    tol: float,
    max_cycles: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, float]: ...
def one_norm(
    B: NDArray[np.float64],
    t: NDArray[np.float64],
    c: NDArray[np.float64],
    free: NDArray[np.float64] | None,
    active: NDArray[np.int64],
    elbow: NDArray[np.int64],
    most: int,
    max_pivots: int,
) -> tuple[
    NDArray[np.float64], float, NDArray[np.float64], int, bool, NDArray[np.int64], NDArray[np.int64]
]: ...
def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...
