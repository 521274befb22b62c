"""The figures of Iwamura and Abe (2008), Tables I to XIII, as plain data.

A pair (mean, deviation) is what the paper prints as mean±deviation. The text at hand is a scan; what had to
be read by sense:

- Tables XI and XII have lost their captions: they are the two tables of L2 SVMs that the text describes as
  recognition rates and numbers of support vectors.
- eta is printed partly as "10-5", meaning 1e-5.
- The list of C in section V.A has neither 100 nor 500, though Tables II, III and X use both: they are in
  `C_GRID` here.
- "for the optimal values of γ and γ 0" in section V.A means γ and C.
- Table VI is said to equal the number of inputs, but image has 18 inputs and 15 vectors: several of its
  inputs are sums of others (intensity and the colour excesses of red, green and blue).

Two facts are not in the text and were inferred from Tables VII and XII: gamma is divided by the number of
inputs, and the rows of label -1 come before those of label +1.
"""

from __future__ import annotations

from typing import NamedTuple


class Rbf(NamedTuple):
    """One row of Tables III and X."""

    C: float
    gamma: float
    C_sparse: float
    eta: float


class Size(NamedTuple):
    """One row of Table I."""

    inputs: int
    training: int
    test: int
    realisations: int


# section V.A
C_GRID = (1, 10, 50, 100, 500, 1000, 2000, 3000, 5000, 8000, 10_000, 50_000, 100_000)
GAMMA_GRID = (0.1, 0.5, 1, 5, 10, 15)
ETA_GRID = (0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5)
ETA_LINEAR = 1e-9

TABLE_I = {
    "banana": Size(2, 400, 4900, 100),
    "breast_cancer": Size(9, 200, 77, 100),
    "diabetis": Size(8, 468, 300, 100),
    "german": Size(20, 700, 300, 100),
    "heart": Size(13, 170, 100, 100),
    "image": Size(18, 1300, 1010, 20),
    "ringnorm": Size(20, 400, 7000, 100),
    "flare_solar": Size(9, 666, 400, 100),
    "splice": Size(60, 1000, 2175, 20),
    "thyroid": Size(5, 140, 75, 100),
    "titanic": Size(3, 150, 2051, 100),
    "twonorm": Size(20, 400, 7000, 100),
    "waveform": Size(21, 400, 4600, 100),
}

# C of L1 SVM, OSV, NOSV with linear kernels
TABLE_II = {
    "banana": (10_000, 10_000, 10),
    "breast_cancer": (1000, 1000, 10),
    "diabetis": (5000, 5000, 5000),
    "german": (8000, 8000, 1),
    "heart": (10, 10, 2000),
    "image": (5000, 5000, 50_000),
    "ringnorm": (5000, 5000, 5000),
    "flare_solar": (1, 1, 1),
    "splice": (1, 1, 10),
    "thyroid": (100, 100, 100_000),
    "titanic": (1, 1, 10),
    "twonorm": (1, 1, 10),
    "waveform": (1, 1, 10),
}

# L1, RBF kernels
TABLE_III = {
    "banana": Rbf(100, 15, 5000, 0.1),
    "breast_cancer": Rbf(500, 0.1, 100_000, 1e-5),
    "diabetis": Rbf(3000, 0.1, 100_000, 1e-3),
    "german": Rbf(50, 0.1, 2000, 1e-3),
    "heart": Rbf(50, 0.1, 500, 1e-3),
    "image": Rbf(500, 15, 10_000, 1e-3),
    "ringnorm": Rbf(1, 15, 1, 0.1),
    "flare_solar": Rbf(10, 0.5, 50, 0.1),
    "splice": Rbf(100_000, 10, 10, 0.1),
    "thyroid": Rbf(100, 15, 100, 1e-2),
    "titanic": Rbf(50, 0.5, 10, 1e-3),
    "twonorm": Rbf(1, 0.5, 100, 1e-3),
    "waveform": Rbf(1, 10, 1, 0.1),
}

# recognition rates of L1 SVM, OSV, NOSV with linear kernels
TABLE_IV = {
    "banana": ((53.2, 4.9), (53.2, 4.9), (52.9, 8.4)),
    "breast_cancer": ((70.2, 5.4), (70.2, 5.4), (70.9, 5.5)),
    "diabetis": ((75.9, 1.8), (75.9, 1.8), (75.7, 2.0)),
    "german": ((75.8, 2.2), (75.8, 2.2), (76.1, 2.2)),
    "heart": ((82.6, 3.2), (82.6, 3.2), (82.7, 3.0)),
    "image": ((84.5, 1.0), (84.5, 1.0), (83.8, 1.3)),
    "ringnorm": ((73.6, 0.92), (73.6, 0.92), (73.7, 0.88)),
    "flare_solar": ((67.7, 1.8), (67.7, 1.8), (67.7, 1.8)),
    "splice": ((83.6, 0.66), (83.6, 0.66), (83.0, 0.63)),
    "thyroid": ((90.5, 2.7), (90.5, 2.7), (87.1, 4.1)),
    "titanic": ((77.4, 0.44), (77.4, 0.44), (77.2, 1.3)),
    "twonorm": ((97.3, 0.20), (97.3, 0.20), (97.2, 0.23)),
    "waveform": ((86.9, 0.57), (86.9, 0.57), (85.7, 0.61)),
}

# recognition rates of L1 SVM and sparse L1 SVM, RBF kernels
TABLE_V = {
    "banana": ((89.3, 0.52), (89.1, 0.60)),
    "breast_cancer": ((72.4, 4.7), (72.0, 5.3)),
    "diabetis": ((76.3, 1.8), (75.8, 1.7)),
    "german": ((76.2, 2.3), (76.0, 2.3)),
    "heart": ((83.7, 3.4), (83.1, 3.4)),
    "image": ((97.3, 0.41), (96.1, 0.74)),
    "ringnorm": ((97.8, 0.30), (98.1, 0.19)),
    "flare_solar": ((67.6, 1.7), (67.6, 1.7)),
    "splice": ((89.2, 0.71), (88.8, 0.79)),
    "thyroid": ((96.1, 2.1), (96.1, 2.1)),
    "titanic": ((77.5, 0.55), (77.4, 0.47)),
    "twonorm": ((97.6, 0.14), (97.4, 0.19)),
    "waveform": ((90.0, 0.44), (89.4, 1.0)),
}

# numbers of support vectors of L1 SVM, OSV, NOSV with linear kernels
TABLE_VI = {
    "banana": ((397, 7.8), (2, 0), (2, 0)),
    "breast_cancer": ((174, 34), (9, 0), (9, 0)),
    "diabetis": ((259, 12), (8, 0), (8, 0)),
    "german": ((416, 17), (20, 0), (20, 0)),
    "heart": ((62.0, 6.2), (13, 0), (13, 0)),
    "image": ((609, 26), (15, 0), (15, 0)),
    "ringnorm": ((235, 18), (20, 0), (20, 0)),
    "flare_solar": ((544, 14), (9, 0), (9, 0)),
    "splice": ((366, 20), (60, 0), (60, 0)),
    "thyroid": ((40.9, 4.4), (5, 0), (5, 0)),
    "titanic": ((143, 6.1), (3, 0), (3, 0)),
    "twonorm": ((74.6, 5.0), (20, 0), (20, 0)),
    "waveform": ((145, 9.7), (21, 0), (21, 0)),
}

# numbers of support vectors of L1 SVM and sparse L1 SVM, RBF kernels
TABLE_VII = {
    "banana": ((101, 10), (17.3, 1.2)),
    "breast_cancer": ((124, 11), (64.4, 1.9)),
    "diabetis": ((255.0, 12), (9.9, 0.74)),
    "german": ((398, 6.1), (35.1, 1.5)),
    "heart": ((73.9, 5.6), (25.3, 1.2)),
    "image": ((151, 8.0), (385, 9.7)),
    "ringnorm": ((130, 5.5), (214, 9.3)),
    "flare_solar": ((530, 14), (8.3, 0.62)),
    "splice": ((741, 14), (968, 5.8)),
    "thyroid": ((14.1, 2.0), (42.8, 2.3)),
    "titanic": ((139, 10), (8.5, 1.0)),
    "twonorm": ((255, 8.0), (67.7, 5.0)),
    "waveform": ((153, 8.9), (132, 6.4)),
}

# seconds to train and test: L1 SVM, OSV, NOSV with linear kernels
TABLE_VIII = {
    "banana": (3.5, 3.5, 2.1),
    "breast_cancer": (0.4, 0.4, 0.3),
    "diabetis": (2.1, 2.0, 3.4),
    "german": (13, 13, 11),
    "heart": (0.1, 0.04, 0.1),
    "image": (66, 62, 114),
    "ringnorm": (2.0, 2.1, 2.8),
    "flare_solar": (4.2, 4.1, 9.4),
    "splice": (5.0, 4.2, 17),
    "thyroid": (0.06, 0.03, 0.13),
    "titanic": (0.1, 0.07, 0.1),
    "twonorm": (0.2, 0.2, 0.94),
    "waveform": (0.3, 0.3, 1.0),
}

# seconds to train and test: L1 SVM and sparse L1 SVM, RBF kernels
TABLE_IX = {
    "banana": (0.3, 1.1),
    "breast_cancer": (0.4, 0.6),
    "diabetis": (1.9, 4.6),
    "german": (6.1, 17),
    "heart": (0.08, 0.10),
    "image": (1.0, 23),
    "ringnorm": (0.7, 1.2),
    "flare_solar": (5.3, 10),
    "splice": (27, 20),
    "thyroid": (0.04, 0.03),
    "titanic": (0.2, 0.1),
    "twonorm": (1.5, 1.1),
    "waveform": (0.6, 1.6),
}

# L2, RBF kernels
TABLE_X = {
    "banana": Rbf(3000, 10, 8000, 1e-2),
    "breast_cancer": Rbf(500, 0.1, 100_000, 1e-5),
    "diabetis": Rbf(3000, 0.1, 10_000, 1e-4),
    "german": Rbf(50, 0.1, 100_000, 1e-3),
    "heart": Rbf(50, 0.1, 2000, 1e-4),
    "image": Rbf(500, 15, 10_000, 1e-3),
    "ringnorm": Rbf(1000, 15, 1, 1e-2),
    "flare_solar": Rbf(1, 0.5, 1, 1e-2),
    "splice": Rbf(1000, 10, 100_000, 1e-5),
    "thyroid": Rbf(100, 15, 500, 0.1),
    "titanic": Rbf(10, 0.5, 50, 1e-3),
    "twonorm": Rbf(1, 0.5, 500, 1e-3),
    "waveform": Rbf(1, 15, 1, 0.1),
}

# recognition rates of L2 SVM and sparse L2 SVM, RBF kernels
TABLE_XI = {
    "banana": ((89.4, 0.51), (89.3, 0.49)),
    "breast_cancer": ((74.7, 4.1), (74.5, 4.2)),
    "diabetis": ((76.5, 1.9), (76.0, 1.8)),
    "german": ((74.6, 2.3), (74.9, 2.1)),
    "heart": ((83.6, 2.9), (83.2, 3.1)),
    "image": ((96.4, 0.72), (97.4, 0.35)),
    "ringnorm": ((98.2, 0.20), (97.3, 0.36)),
    "flare_solar": ((64.3, 3.2), (66.3, 2.3)),
    "splice": ((85.9, 1.3), (88.8, 0.80)),
    "thyroid": ((96.2, 1.9), (95.7, 2.2)),
    "titanic": ((76.8, 1.4), (76.9, 1.9)),
    "twonorm": ((97.2, 0.66), (97.2, 0.25)),
    "waveform": ((90.2, 0.40), (89.9, 0.39)),
}

# numbers of support vectors of L2 SVM and sparse L2 SVM, RBF kernels
TABLE_XII = {
    "banana": ((168, 21), (22.3, 1.3)),
    "breast_cancer": ((176, 6.4), (64.4, 1.9)),
    "diabetis": ((393, 9.1), (23.1, 1.7)),
    "german": ((575, 12), (35.1, 1.5)),
    "heart": ((123, 7.8), (67.6, 2.0)),
    "image": ((221, 15), (385, 9.7)),
    "ringnorm": ((249, 7.5), (373, 5.9)),
    "flare_solar": ((322, 96), (21.8, 1.4)),
    "splice": ((376, 125), (977, 5.2)),
    "thyroid": ((18.0, 4.5), (23.5, 1.6)),
    "titanic": ((149, 3.5), (8.5, 1.0)),
    "twonorm": ((259, 45), (67.7, 5.0)),
    "waveform": ((208, 9.9), (249, 10)),
}

# seconds to train and test: L2 SVM and sparse L2 SVM, RBF kernels
TABLE_XIII = {
    "banana": (22, 4.1),
    "breast_cancer": (1.4, 1.5),
    "diabetis": (15, 21),
    "german": (53, 65),
    "heart": (0.6, 0.7),
    "image": (5.5, 31),
    "ringnorm": (5.9, 2.0),
    "flare_solar": (5.7, 68),
    "splice": (19, 53),
    "thyroid": (0.05, 0.13),
    "titanic": (0.8, 0.7),
    "twonorm": (4.8, 1.4),
    "waveform": (3.3, 2.8),
}
