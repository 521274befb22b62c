"""The search behind Table 2 of Huang et al.: which setting is chosen, and that the race loses none that would be."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

# at the end: no script may hide a module of the same name
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from papers.huang import nested
from papers.huang import published as paper
from papers.huang.tables import paired
from slimsvm.datasets import make_ringnorm


def test_the_least_error_is_chosen_and_of_equals_the_fewest_vectors():
    race = nested.Race(
        wrong=[[1, 2], [2, 1], [0, 4], [0]], vectors=[[9, 9], [5, 6], [1, 1], [1]], tested=[10, 10]
    )
    assert race.chosen(0.0) == 1  # 3 wrong as the first, with fewer vectors; the last was given up
    # the standard error of 3 of 20 is 1.6 rows: within 0.7 of it lies 4, with one vector
    assert race.chosen(0.7) == 2
    assert race.chosen(0.5) == 1


def test_a_race_chooses_what_the_whole_cross_validation_would(monkeypatch):
    X, y = make_ringnorm(300, random_state=0)
    settings = nested.settings_of({"gammas": [0.001, 0.5, 2.0, 50.0], "Cs": [0.3, 3.0, 30.0]})
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    short = nested.race("SVC", settings, X, y, folds)
    monkeypatch.setattr(nested, "FIRST_FOLDS", len(folds) + 1)
    whole = nested.race("SVC", settings, X, y, folds)
    assert min(map(len, short.wrong)) < len(folds) == min(map(len, whole.wrong))
    for share in nested.RULES.values():
        assert short.chosen(share) == whole.chosen(share)
    assert sum(whole.tested) == len(y)


def test_one_setting_for_all_folds_is_the_smallest_that_is_as_good():
    grid = {"gammas": [0.1, 0.2, 0.4], "Cs": [1.0]}
    races = [
        {"errors": [10.0, 10.2, 14.0], "vectors": [9.0, 5.0, 1.0]},
        {"errors": [10.0, 10.4, 14.0], "vectors": [9.0, 6.0, 1.0]},
    ]
    # the standard error of 10 % of 1000 rows is 0.95 points, of 100,000 rows 0.095
    assert nested.shared_setting(races, grid, 1000)["gamma"] == 0.2
    assert nested.shared_setting(races, grid, 100_000)["gamma"] == 0.1


def test_the_corner_of_a_grid_is_cut_only_on_large_sets_of_many_inputs():
    for title, size in paper.TABLE_1.items():
        settings = nested.settings_of(nested.grid_of(title, "SSVC_W"))
        whole = len(nested.GRIDS["SSVC_W"]["gammas"]) * len(nested.GRIDS["SSVC_W"]["Cs"])
        cut = title in ("Diabetes", "German", "Ringnorm", "Waveform")
        assert (len(settings) < whole) == cut
        largest = max(setting["gamma"] * setting["C"] for setting in settings)
        assert (largest <= nested.CORNER["SSVC_W"]) == cut
        assert size.name.startswith("ida_")


def test_published_figures_are_where_the_paper_has_them():
    assert paper.TABLE_2["German"]["SSVC_W"] == ((505.58, 308.77), (21.2, 4.3), (23.5, 4.7))
    assert paper.TABLE_2["Banana"]["LP-SVC"].vectors == (114.5, 63.8)
    assert paper.TABLE_2["Waveform"]["SC-SVC"].error == (9.8, 2.7)
    assert paper.TABLE_2["B. Cancer"]["SPC"].seconds == (0.27, 0.02)


def test_the_paired_test_sees_what_folds_have_in_common():
    rng = np.random.default_rng(0)
    hard = 10 * rng.standard_normal(10)
    assert paired(list(hard + 1 + 0.1 * rng.standard_normal(10)), list(hard)) < 1e-6
    assert paired([1.0, 2.0], [1.0, 2.0]) == pytest.approx(1.0)
