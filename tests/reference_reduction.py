"""Plain NumPy truth for pruning: Algorithm 1 of Kobayashi and Otsu, and Algorithm 2 with fresh inverses."""

import numpy as np


def first_smallest(costs):
    """The first of the smallest costs up to rounding: two vectors left of a normalised kernel tie exactly."""
    return int(np.flatnonzero(costs <= costs.min() * (1 + 1e-8))[0])


def algorithm_1(K, coef, n_keep, ridge, by_damage=False):
    """One least-squares problem per vector and step; returns the order of removal and the coefficients.

    The error of a replacement is that of eq. (7), with the ridge term that eq. (5) leaves out: the paper
    takes them as equal.
    """
    left = list(range(len(K)))
    coef = np.array(coef, dtype=float)
    removed = []
    while len(left) > n_keep:
        costs, betas = [], []
        for position, i in enumerate(left):
            others = [j for j in left if j != i]
            regularised = K[np.ix_(others, others)] + ridge * np.eye(len(others))
            beta = np.linalg.solve(regularised, K[others, i])  # eq. (4)
            error = K[i, i] - 2 * beta @ K[others, i] + beta @ K[np.ix_(others, others)] @ beta  # eq. (5)
            error += ridge * (1.0 + beta @ beta)  # 1 / h_ii by eq. (7)
            costs.append(error * (np.sum(coef[position] ** 2) if by_damage else 1.0))
            betas.append(beta)
        worst = first_smallest(np.array(costs))
        removed.append(left[worst])
        given = coef[worst]
        coef = np.delete(coef, worst, axis=0) + np.multiply.outer(betas[worst], given)  # eq. (3)
        del left[worst]
    return removed, left, coef


def algorithm_2(K, coef, n_keep, ridge, by_damage=False):
    """The inverse computed afresh at every step."""
    left = np.arange(len(K))
    coef = np.array(coef, dtype=float)
    removed = []
    while len(left) > n_keep:
        H = np.linalg.inv(K[np.ix_(left, left)] + ridge * np.eye(len(left)))
        size = (coef**2).sum(axis=1) if by_damage else 1.0
        worst = first_smallest(size / np.diagonal(H))
        removed.append(int(left[worst]))
        change = np.multiply.outer(H[:, worst] / H[worst, worst], coef[worst])
        coef = np.delete(coef - change, worst, axis=0)
        left = np.delete(left, worst)
    return removed, list(left), coef


def coefficients_of(K, coef, rows, ridge):
    """Coefficients on `rows` whatever the order of removal: (K + ridge I)_SS c_S = ((K + ridge I) c)_S."""
    regularised = K + ridge * np.eye(len(K))
    return np.linalg.solve(regularised[np.ix_(rows, rows)], (regularised @ coef)[rows])
