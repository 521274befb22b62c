r"""What a pass takes from a chunk: sums over its rows, each with how two of them become one.

With features :math:`h(x)` of a row, its kernel values with the vectors, targets Y and weights s:

- `NormalEquations`: weighted means, and products :math:`\tilde h \tilde h^\top`, :math:`\tilde h \tilde y^\top` around
  them; for the squared loss they say everything.
- `LossSums`: the loss of outputs and its gradient.
- `NewtonSums`: the same with the second derivatives, and what the duality gap needs.
- the loss at several lengths of a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataFormatError
from ..kernels import Kernel
from ..losses import Hinge, Squared, SquaredHinge
from ..problem import check_finite
from ..projection import Projection
from ..readout import label_readout
from ..refinement import RoundedHinge, SmoothLoss
from ..rows import Array, Rows, cast
from .blocks import Block

# Rows whose kernel values are held at a time take this many bytes.
PART_BYTES = 32 * 2**20


@dataclass(frozen=True, eq=False)
class Features:
    """Kernel values of rows with given vectors.

    Parameters
    ----------
    kernel : Kernel
    vectors : array or CSR of shape (m, d), or of shape (m, r) in the image of a projection
    projection : Projection or None
    dtype : dtype
        Of the values: float64 where equations are solved with them, float32 for gradients.
    """

    kernel: Kernel
    vectors: Rows
    projection: Projection | None = None
    dtype: Any = np.float64

    @property
    def m(self) -> int:
        """Number of vectors."""
        return int(self.vectors.shape[0])

    def __call__(self, X: Rows) -> Array:  # (n, m)
        """The features of some rows."""
        if self.projection is not None:
            X = self.projection(X)
        dtype = np.dtype(self.dtype)
        K = self.kernel(cast(X, dtype), cast(self.vectors, dtype))
        check_finite(K)
        return K

    def among(self) -> Array:  # (m, m)
        """Kernel values of the vectors with each other, in float64."""
        vectors = cast(self.vectors, np.dtype(np.float64))
        return self.kernel(vectors, vectors)


@dataclass(frozen=True, eq=False)
class Targets:
    """What is wanted of rows, from what was given with them.

    Parameters
    ----------
    classes : array of shape (n_classes,) or None
        None for targets.
    labels : array of shape (n_labels,)
        All labels there are: those that are no classes have weight zero.
    factors : array of shape (n_labels,)
        On the weights of the rows of each label.
    centre, unit : arrays of shape (k,), or numbers
        What is taken off targets, and what they are then divided by.
    """

    classes: Array | None = None
    labels: Any = ()
    factors: Any = ()
    centre: Any = 0.0
    unit: Any = 1.0

    def __call__(self, block: Block) -> tuple[Array, Array]:
        """Targets (n, k) and weights (n,)."""
        if self.classes is None:
            Y = (block.y.reshape(block.n, -1) - self.centre) / self.unit
            return Y, block.weight
        at = np.minimum(np.searchsorted(self.labels, block.y), len(self.labels) - 1)
        known = self.labels[at] == block.y
        if not known.all():
            raise DataFormatError(
                f"{block.name} has the label {block.y[~known].tolist()[0]!r}, which no row had in the first pass."
            )
        codes = np.minimum(np.searchsorted(self.classes, block.y), len(self.classes) - 1)
        return label_readout(self.classes).signs(codes), block.weight * self.factors[at]


def _parts(block: Block, features: Features, targets: Targets) -> Any:
    """Kernel values, targets and weights of a few rows after the other."""
    Y, weight = targets(block)
    step = max(1, PART_BYTES // max(1, np.dtype(features.dtype).itemsize * (features.m + 1)))
    for start in range(0, block.n, step):
        rows = slice(start, start + step)
        yield features(block.X[rows]), Y[rows], weight[rows]


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Weighted means of features and targets, and products around them.

    Parameters
    ----------
    total : float
        Sum of the weights.
    means : array of shape (m,)
    mean : array of shape (k,)
        Of the targets.
    products : array of shape (m, m)
    right : array of shape (m, k)
    """

    total: float
    means: Array
    mean: Array
    products: Array
    right: Array

    @staticmethod
    def of(features: Features, targets: Targets, block: Block) -> NormalEquations:
        """The sums of a chunk."""
        found = None
        for K, Y, weight in _parts(block, features, targets):
            total = float(weight.sum())
            means, mean = weight @ K / total, weight @ Y / total
            A = (K - means) * np.sqrt(weight)[:, None]
            right = A.T @ ((Y - mean) * np.sqrt(weight)[:, None])
            part = NormalEquations(total, means, mean, A.T @ A, right)
            found = part if found is None else found.merge(part)
        assert found is not None
        return found

    def merge(self, other: NormalEquations) -> NormalEquations:
        """The sums of both, around their common means."""
        total = self.total + other.total
        share, apart, wanted = other.total / total, other.means - self.means, other.mean - self.mean
        factor = self.total * share
        return NormalEquations(
            total,
            self.means + share * apart,
            self.mean + share * wanted,
            self.products + other.products + factor * np.outer(apart, apart),
            self.right + other.right + factor * np.outer(apart, wanted),
        )


@dataclass(frozen=True, eq=False)
class LossSums:
    """The weighted loss of all outputs, and its gradient.

    Parameters
    ----------
    value : float
    in_coef : array of shape (m, k)
    in_intercept : array of shape (k,)
    """

    value: float
    in_coef: Array
    in_intercept: Array

    @staticmethod
    def of(
        features: Features, targets: Targets, loss: SmoothLoss, coef: Array, intercept: Array, block: Block
    ) -> LossSums:
        """The sums of a chunk."""
        found = LossSums(0.0, np.zeros(coef.shape), np.zeros(len(intercept)))
        for K, Y, weight in _parts(block, features, targets):
            F = K @ coef.astype(K.dtype) + intercept
            slope = weight[:, None] * loss.derivative(Y, F)
            value = float((weight[:, None] * loss.value(Y, F)).sum())
            found = found.merge(LossSums(value, K.T @ slope.astype(K.dtype), slope.sum(axis=0)))
        return found

    def merge(self, other: LossSums) -> LossSums:
        """The sums of both."""
        return LossSums(
            self.value + other.value, self.in_coef + other.in_coef, self.in_intercept + other.in_intercept
        )


def curvature(loss: SmoothLoss, Y: Array, F: Array) -> Array:
    """Second derivative of a loss with respect to the outputs."""
    if isinstance(loss, Squared):
        return np.ones_like(F)
    if isinstance(loss, SquaredHinge):
        return (Y * F < 1.0).astype(F.dtype)
    assert isinstance(loss, RoundedHinge)
    return (np.abs(1.0 - Y * F) < loss.rounding) / (2.0 * loss.rounding)


@dataclass(frozen=True, eq=False)
class NewtonSums:
    """What a step of Newton's method needs, for each output apart.

    Parameters
    ----------
    value : array of shape (k,)
        Weighted loss.
    plain : array of shape (k,)
        Weighted loss without its corners rounded.
    gradient : array of shape (k, m + 1)
        In coefficients and intercept.
    hessian : array of shape (k, m + 1, m + 1)
    multipliers : array of shape (k,)
        Sum of the dual coefficients.
    conjugate : array of shape (k,)
        What the dual takes off their sum.
    drift : array of shape (k, m + 1)
        Derivative of the gradient with respect to the logarithm of the rounding; zero where nothing is rounded.
    """

    value: Array
    plain: Array
    gradient: Array
    hessian: Array
    multipliers: Array
    conjugate: Array
    drift: Array

    @staticmethod
    def of(
        features: Features, targets: Targets, loss: SmoothLoss, coef: Array, intercept: Array, block: Block
    ) -> NewtonSums:
        """The sums of a chunk."""
        m, k = coef.shape
        found = NewtonSums(
            *(np.zeros((k, *shape)) for shape in ((), (), (m + 1,), (m + 1, m + 1), (), (), (m + 1,)))
        )
        plain = Hinge() if isinstance(loss, RoundedHinge) else loss
        for K, Y, weight in _parts(block, features, targets):
            F, w = K @ coef + intercept, weight[:, None]
            A = np.column_stack([K, np.ones(len(K))])
            slope, bend = w * loss.derivative(Y, F), w * curvature(loss, Y, F)
            hessian = np.empty((k, m + 1, m + 1))
            for output in range(k):
                used = np.flatnonzero(bend[:, output] > 0)
                B = A[used] * np.sqrt(bend[used, output])[:, None]
                hessian[output] = B.T @ B
            alpha = np.abs(slope)
            # alpha = w slack for the squared hinge, so alpha^2 / w = alpha slack
            halves = np.zeros(k) if isinstance(loss, RoundedHinge) else (w * loss.value(Y, F)).sum(axis=0)
            drift = bend * Y * (1.0 - Y * F) if isinstance(loss, RoundedHinge) else np.zeros_like(F)
            found = found.merge(
                NewtonSums(
                    (w * loss.value(Y, F)).sum(axis=0),
                    (w * plain.value(Y, F)).sum(axis=0),
                    slope.T @ A,
                    hessian,
                    alpha.sum(axis=0),
                    halves,
                    drift.T @ A,
                )
            )
        return found

    def merge(self, other: NewtonSums) -> NewtonSums:
        """The sums of both."""
        names = ("value", "plain", "gradient", "hessian", "multipliers", "conjugate", "drift")
        return NewtonSums(*(getattr(self, name) + getattr(other, name) for name in names))


def losses_along(
    features: Features,
    targets: Targets,
    loss: SmoothLoss,
    coef: Array,  # (m, k)
    intercept: Array,  # (k,)
    step: Array,  # (m + 1, k)
    lengths: Array,  # (t,)
    block: Block,
) -> Array:  # (t, k)
    """Weighted loss after steps of several lengths."""
    found = np.zeros((len(lengths), coef.shape[1]))
    for K, Y, weight in _parts(block, features, targets):
        F, along = K @ coef + intercept, K @ step[:-1] + step[-1]
        for at, length in enumerate(lengths):
            found[at] += weight @ loss.value(Y, F + length * along)
    return found


def added(a: Array, b: Array) -> Array:
    """Two sums as one."""
    total: Array = a + b
    return total
