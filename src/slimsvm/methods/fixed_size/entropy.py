r"""Selection by quadratic Renyi entropy: vectors that lie apart.

The entropy of a set P under the kernel is estimated by :math:`-\log \frac1{m^2} \sum_{i,j \in P} k(x_i,
x_j)`: it is large where the vectors are far from one another. Starting from random rows, every other row is
offered in random order, and takes the place of the vector whose removal serves best if the entropy rises.

References
----------
Suykens et al., *Least Squares Support Vector Machines*, World Scientific (2002), chapter 6.
"""

from __future__ import annotations

import numpy as np

from ...problem import KernelGram
from ...progress import tell
from ...rows import Array

# Rows offered between two calls of the kernel.
OFFERED_TOGETHER = 256


def select_by_entropy(gram: KernelGram, m: int, rng: np.random.Generator) -> Array:  # (m,)
    """Row numbers of m vectors of large quadratic Renyi entropy."""
    order = rng.permutation(gram.n)
    chosen, offered = order[:m].copy(), order[m:]
    diagonal = gram.diagonal()
    K = gram.block(chosen, chosen)
    sums = K.sum(axis=1)
    for start in range(0, len(offered), OFFERED_TOGETHER):
        rows = offered[start : start + OFFERED_TOGETHER]
        block = gram.block(rows, chosen)  # (b, m)
        for at, j in enumerate(rows):
            k = block[at]
            # change of the sum over all pairs if vector i gives way to row j, for every i
            change = 2.0 * (k.sum() - k - sums) + diagonal[chosen] + diagonal[j]
            i = int(change.argmin())
            if change[i] >= 0.0:
                continue
            sums += k - K[i]
            K[i] = K[:, i] = k
            K[i, i] = diagonal[j]
            sums[i] = K[i].sum()
            chosen[i] = j
            block[:, i] = gram.block(rows, np.array([j]))[:, 0]
        tell("offering rows", min(start + OFFERED_TOGETHER, len(offered)), len(offered))
    return np.sort(chosen)
