"""The figures of Kobayashi and Otsu (2009), Tables 1 to 3, as plain data.

A pair (mean, deviation) is what the paper prints as "mean (± deviation)". The text at hand is a scan; what had to be
read by sense:

- Table 1 has lost the column of the sets' names. It has 13 rows, as the benchmark has sets; read in the benchmark's own
  order, which is alphabetical, rates and counts are those that everybody finds (ringnorm 98.1 %, splice 89.0 %).
- Of Figure 1 the caption is left, and the sentence that a rise of the hinge loss by 0.1 costs about 2 points.
"""

from __future__ import annotations

from typing import NamedTuple


class Row1(NamedTuple):
    """One row of Table 1: vectors and recognition rate of the SVM and the proposed method, vectors of Downs et al."""

    svm_vectors: tuple[float, float]
    svm_rate: tuple[float, float]
    vectors: tuple[float, float]
    rate: tuple[float, float]
    downs: tuple[float, float]


class Row2(NamedTuple):
    """One row of Table 2: recognition rate and vectors of the SVM and of the proposed method."""

    svm_rate: float
    svm_vectors: int
    rate: float
    vectors: int


class Row3(NamedTuple):
    """One row of Table 3: rate and vectors of the SVM, then of the proposed method at each tau."""

    svm_rate: float
    svm_vectors: int
    pruned: tuple[tuple[float, int], ...]


N_SPLITS = 10
TAU = 0.025
RIDGE = 0.001
# Points of recognition rate for a rise of the hinge loss by one: the dashed line of Figure 1.
SLOPE = -20.0

TABLE_1 = {
    "banana": Row1((143, 23), (89.19, 0.73), (40, 24), (89.11, 0.80), (120, 37)),
    "breast_cancer": Row1((124, 9), (73.12, 5.20), (51, 18), (72.99, 5.02), (119, 9)),
    "diabetis": Row1((267, 13), (76.33, 1.80), (40, 17), (76.43, 1.97), (267, 13)),
    "flare_solar": Row1((485, 19), (67.85, 2.20), (49, 2), (67.85, 2.20), (62, 3)),
    "german": Row1((423, 30), (77.07, 1.97), (235, 88), (77.07, 1.67), (423, 30)),
    "heart": Row1((95, 8), (83.60, 3.01), (33, 15), (83.90, 2.84), (95, 8)),
    "image": Row1((320, 112), (96.75, 0.73), (266, 133), (96.26, 0.73), (312, 114)),
    "ringnorm": Row1((97, 10), (98.10, 0.23), (73, 7), (98.02, 0.29), (97, 10)),
    "splice": Row1((650, 67), (89.02, 0.75), (600, 65), (88.64, 0.73), (645, 68)),
    "thyroid": Row1((27, 19), (95.07, 2.80), (19, 16), (94.27, 3.48), (27, 19)),
    "titanic": Row1((76, 9), (77.33, 0.25), (8, 1), (77.36, 0.31), (10, 1)),
    "twonorm": Row1((125, 5), (97.36, 0.19), (53, 33), (97.38, 0.15), (125, 5)),
    "waveform": Row1((155, 22), (89.89, 0.51), (77, 25), (89.57, 0.70), (155, 22)),
}

TABLE_2 = (
    Row2(99.75, 1481, 99.06, 559),
    Row2(99.78, 1251, 99.75, 708),
    Row2(99.43, 2844, 99.22, 1227),
    Row2(99.47, 3300, 99.15, 1479),
    Row2(99.47, 2726, 99.26, 1042),
    Row2(99.44, 3224, 99.05, 1293),
    Row2(99.64, 1896, 99.26, 820),
    Row2(99.24, 2442, 99.08, 933),
    Row2(99.31, 3877, 99.22, 1968),
    Row2(99.00, 4100, 98.76, 1733),
)

TAUS_3 = (0.025, 0.05, 0.075)
DIGIT_3 = 3
# by the share of the training rows
TABLE_3 = {
    0.1: Row3(98.74, 706, ((98.28, 380), (97.43, 283), (96.34, 202))),
    0.2: Row3(99.09, 1143, ((98.79, 644), (98.25, 434), (97.82, 335))),
    0.3: Row3(99.20, 1468, ((98.75, 764), (97.92, 490), (97.81, 373))),
    0.4: Row3(99.21, 1726, ((98.75, 860), (97.65, 610), (97.05, 443))),
    0.5: Row3(99.29, 2100, ((99.05, 1071), (98.52, 662), (96.84, 491))),
    0.6: Row3(99.38, 2309, ((98.92, 1102), (98.22, 717), (97.36, 569))),
    0.7: Row3(99.38, 2550, ((99.09, 1234), (98.30, 849), (97.60, 615))),
    0.8: Row3(99.43, 2851, ((99.04, 1281), (98.44, 859), (97.98, 668))),
    0.9: Row3(99.45, 3106, ((99.04, 1400), (98.40, 946), (97.66, 726))),
    1.0: Row3(99.47, 3300, ((99.15, 1479), (98.37, 978), (97.95, 768))),
}
