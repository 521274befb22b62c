"""Plain NumPy truth for pruning: Algorithms 1 and 2 of Kobayashi and Otsu."""

import numpy as np


def first_smallest(costs):
    """The first of the smallest costs up to rounding: two vectors left of a normalised kernel tie exactly."""
    return int(np.flatnonzero(costs <= costs.min() * (1 + 1e-8))[0])


def algorithm_1(K, coef, n_keep, ridge, criterion="distance"):
    """One least-squares problem per vector and step; returns the order of removal and the coefficients.

    "distance" is the algorithm as it is printed, with the error of eq. (5). "redundancy" takes that of eq. (7), which
    has the ridge term too, and "damage" weighs it by the coefficients.
    """
    left = list(range(len(K)))
    coef = np.array(coef, dtype=float)
    removed = []
    while len(left) > n_keep:
        costs, betas = [], []
        for position, i in enumerate(left):
            others = [j for j in left if j != i]
            regularised = K[np.ix_(others, others)] + ridge * np.eye(len(others))
            beta = np.linalg.solve(regularised, K[others, i])  # line 4, eq. (4)
            error = (
                K[i, i] - 2 * beta @ K[others, i] + beta @ K[np.ix_(others, others)] @ beta
            )  # line 5, eq. (5)
            if criterion != "distance":
                error += ridge * (1.0 + beta @ beta)  # 1 / h_ii by eq. (7)
            costs.append(error * (np.sum(coef[position] ** 2) if criterion == "damage" else 1.0))
            betas.append(beta)
        worst = first_smallest(np.array(costs))  # line 7
        removed.append(left[worst])
        given = coef[worst]
        coef = np.delete(coef, worst, axis=0) + np.multiply.outer(betas[worst], given)  # line 8, eq. (3)
        del left[worst]
    return removed, left, coef


def algorithm_2(K, coef, n_keep, ridge, by_damage=False):
    """The inverse updated as it is printed, all of it at every step."""
    left = np.arange(len(K))
    coef = np.array(coef, dtype=float)
    H = np.linalg.inv(K + ridge * np.eye(len(K)))  # line 1
    removed = []
    while len(left) > n_keep:
        size = (coef**2).sum(axis=1) if by_damage else 1.0
        i = first_smallest(size / np.diagonal(H))  # line 3: the largest h_ii
        removed.append(int(left[i]))
        others = np.arange(len(left)) != i
        h = H[others, i]
        coef = coef[others] - np.multiply.outer(h / H[i, i], coef[i])  # line 4
        H = H[np.ix_(others, others)] - np.multiply.outer(h, h) / H[i, i]  # line 5
        left = left[others]
    return removed, list(left), coef


def coefficients_of(K, coef, rows, ridge):
    """Coefficients on `rows` whatever the order of removal: (K + ridge I)_SS c_S = ((K + ridge I) c)_S."""
    regularised = K + ridge * np.eye(len(K))
    return np.linalg.solve(regularised[np.ix_(rows, rows)], (regularised @ coef)[rows])
