"""One output of a zero-norm machine: which problem, rounds and solver its parameters ask for."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, Options, StrOptions

from ...linalg import scaled, twice
from ...problem import Dictionary
from ...rows import Array
from ...solvers.linear_program import LinearProgramSolution, solve_infinity_norm, solve_one_norm
from ...solvers.one_norm_margin import OneNormMarginSolution, solve_one_norm_margin
from ...solvers.reweighted import INNER_TOLERANCE, Reweighted, reweighted, without_effect
from ..base import Run
from .rounds import factor_of_margin, linear_round, mixed_round, multiplicative_round, quadratic_round

CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0, None, closed="neither")],
    "variant": [StrOptions({"quadratic", "linear", "multiplicative"})],
    "p": [Interval(Real, 0, 2, closed="both"), Options(Real, {np.inf})],
    "margin": [Interval(Real, 0, None, closed="left")],
    "solver": [StrOptions({"auto", "smo"})],
    # the rounds begin with coefficients of one
    "floor": [None, Interval(Real, 0, 1, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}

# Between 0 and 1 a coefficient that should be zero falls by a factor of about |a|^(1-p) in each quadratic round, too
# slowly for `tol` to see it; those that stay are still to this share of themselves when the rounds end.
STILL = 0.01
# Share of the largest diagonal entry below which a negative eigenvalue of a kernel matrix is rounding.
ROUNDING = 1e-8
# Share of the largest output, or target, that the coefficients below the floor may move without a word.
SEEN = 0.01


def check_combination(model: Any) -> None:
    """Refuse parameters that do not go together."""
    linear_norm = model.variant == "linear" and model.p <= 1
    if model.variant != "quadratic" and (model.margin != 0 or (model.p != 0 and not linear_norm)):
        raise ValueError(
            f"p and margin need variant='quadratic' (p up to 1 also 'linear'), got variant={model.variant!r}."
        )
    if model.p == np.inf and model.margin != 0:
        raise ValueError("margin must be 0 for p=inf, which is solved as a linear program.")
    if model.solver == "smo" and (model.variant != "quadratic" or model.p == np.inf):
        raise ValueError("solver='smo' solves quadratic rounds: it needs variant='quadratic' and a finite p.")
    if model.floor is not None and (model.variant == "multiplicative" or model.p == np.inf):
        raise ValueError("floor has no meaning for variant='multiplicative' and p=inf; use floor=None.")


def solve(model: Any, sign: Array, t: Array, c: Array, dictionary: Dictionary, run: Run) -> Reweighted:
    """One output; `sign` has n entries, or 2n for each row twice."""
    result = _solve(model, sign, t, c, dictionary, run)
    if result.faded is not None:
        lost, kept = (float(np.abs(_outputs(dictionary, a)).max()) for a in (result.faded, result.coef))
        if lost > SEEN * max(kept, float(np.abs(t).max())):
            warnings.warn(
                f"{run.name}: coefficients below floor, which the model leaves out, move an output by {lost:.2g} where "
                f"the others reach {kept:.2g}; lower floor (it is {model.floor:g}).",
                ConvergenceWarning,
                stacklevel=2,
            )
    return result


def _outputs(dictionary: Dictionary, coef: Array) -> Array:  # (n,)
    outputs: Array = coef[0] + dictionary.K @ coef[1:]
    return outputs


def _solve(model: Any, sign: Array, t: Array, c: Array, dictionary: Dictionary, run: Run) -> Reweighted:
    size = 1 + len(dictionary.rows)
    by_smo = model.solver == "smo"
    # the paper's own way is taken as it is, also where there is a better one
    as_published = by_smo or model.floor is not None
    options: dict[str, Any] = {
        "tol": model.tol,
        "max_iter": model.max_iter,
        "each": STILL if 0 < model.p < 1 and not as_published else np.inf,
        "floor": model.floor,
        "report": run.say,
    }
    one_norm = model.p == 1 and not as_published  # convex, and solved as what it is: rounds need hundreds
    two_sides = len(sign) > len(dictionary.K)
    if model.variant == "quadratic" and model.margin == 0 and model.p < np.inf and not one_norm:
        K = twice(dictionary.K) if two_sides else dictionary.K
        one_round = quadratic_round(K, t, c, model.p, sign=sign, with_constant=True, by_smo=by_smo)
        return reweighted(size, one_round, **options)
    A = dictionary.columns
    B = scaled(twice(A) if two_sides else A, sign, None)
    if one_norm and model.margin > 0:
        P = model.margin * dictionary.kernel
        factor_of_margin(
            P + ROUNDING * float(P.diagonal().max()) * np.eye(size)
        )  # refuses a kernel that is not
        return _without_rounds(solve_one_norm_margin(P, B, t, c, 1.0, np.zeros(len(t)), tol=INNER_TOLERANCE))
    if one_norm:
        return _without_rounds(solve_one_norm(B, t, c, np.ones(size), tol=INNER_TOLERANCE))
    if model.p == np.inf:
        return _without_rounds(solve_infinity_norm(B, t, c))
    if model.variant == "linear":
        one_round = linear_round(B, t, c, model.p)
    elif model.variant == "multiplicative":
        one_round = multiplicative_round(B, t, c)
    else:
        one_round = mixed_round(B, t, c, dictionary.kernel, model.margin, model.p, by_smo=by_smo)
    return reweighted(size, one_round, vanished=partial(without_effect, B), **options)


def _without_rounds(solution: LinearProgramSolution | OneNormMarginSolution) -> Reweighted:
    """The optimum of a convex problem, as the rounds would give it."""
    counts = (len(solution.alpha), int(np.count_nonzero(solution.alpha)))
    return Reweighted(solution.alpha, counts, 0.0, solution.gap, True)
