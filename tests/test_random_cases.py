"""Some of the random cases of `make attack`, and how they are told apart."""

from __future__ import annotations

import numpy as np
import pytest

import random_cases
from profiles import HARD
from slimsvm import LSSVC, CompactSVC

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered in reduce"),
]


@pytest.mark.parametrize("name", random_cases.ours)
def test_random_cases_end_in_a_sound_model_or_a_clear_error(name):
    first = random_cases.ours.index(name)
    for number in range(first, (80 if HARD else 2) * len(random_cases.ours), len(random_cases.ours)):
        assert random_cases.attack(number).wrong == ""


@pytest.mark.parametrize("number", [204444, 211140])
def test_probabilities_of_outputs_that_are_all_but_equal(number):
    """The matrix of a Newton step was singular."""
    assert random_cases.attack(number) == random_cases.Found("fitted")


@pytest.mark.parametrize("number", [401166, 416124, 418582])
def test_kernel_values_whose_gradients_have_no_squares(number):
    """L-BFGS divided by zero and went on with not-a-number."""
    assert random_cases.attack(number) == random_cases.Found("fitted")


def test_a_system_of_the_interior_point_without_an_answer():
    """LU said in a warning that the matrix is singular."""
    assert random_cases.attack(413103) == random_cases.Found("fitted")


def test_rows_on_the_border_of_several_classes_have_one_label_alone_and_among_others():
    """Outputs of a linear program are -1 for all classes there, up to the last digit."""
    assert random_cases.attack(807) == random_cases.Found("fitted")


def test_a_map_that_has_shrunk_to_nothing_is_placed_anew():
    """Distances that underflowed made it infinite."""
    assert random_cases.attack(416260) == random_cases.Found("fitted")


def test_coefficients_of_smo_that_are_beyond_all_numbers_are_refused():
    given = random_cases.trial(418375)
    with pytest.raises(ValueError, match=r"solver='smo' has gone beyond all numbers.*use solver='cholesky'"):
        LSSVC(**given.chosen).fit(given.rows, given.y)


@pytest.mark.parametrize("number", [600544, 603460, 618121])
def test_coefficients_of_smo_that_are_not_numbers_are_refused_in_the_same_words(number):
    given = random_cases.trial(number)
    with pytest.raises(ValueError, match=r"solver='smo' has gone beyond all numbers.*use solver='cholesky'"):
        LSSVC(**given.chosen).fit(given.rows, given.y, sample_weight=given.weight)


@pytest.mark.parametrize("number", [604935, 612766, 613224])
def test_the_decay_of_a_map_that_is_nearly_nothing_is_a_number(number):
    assert random_cases.attack(number) == random_cases.Found("fitted")


def test_the_middle_of_rows_of_the_largest_numbers_is_one():
    assert random_cases.attack(612684) == random_cases.Found("fitted")


def test_noise_beside_weights_of_nothing_has_a_precision():
    """That of the targets became zero, and its logarithm infinite."""
    assert random_cases.attack(602926) == random_cases.Found("fitted")


def test_a_width_beyond_all_numbers_is_the_largest():
    """That of rows of 1e-150 overflowed with gamma=1e12; numbers of four bits do not go so far."""
    assert random_cases.attack(706671) == random_cases.Found("ValueError")
    given = random_cases.trial(706671)
    wide = CompactSVC(gamma=1e12, max_vectors=8, refine=False).fit(given.rows, given.y)
    assert np.isfinite(wide.decision_function(given.asked)).all()


def test_the_deviation_of_a_row_far_away_is_the_same_alone():
    """Terms of c' S c cancelled, to another rest in a batch."""
    assert random_cases.attack(710467) == random_cases.Found("fitted")


def test_a_density_beyond_all_numbers_has_a_unit():
    assert random_cases.attack(716869) == random_cases.Found("fitted")


def test_a_case_is_known_by_its_number():
    one, same, other = (random_cases.trial(number) for number in (31, 31, 31 + len(random_cases.ours)))
    assert one.about == same.about
    assert (one.name, one.about) != (other.name, other.about)
    assert one.name == other.name
    np.testing.assert_array_equal(one.asked, same.asked)


class _Fickle:
    """A model whose answers depend on their number, or are not finite."""

    def __init__(self, wrong):
        self.wrong = wrong

    def predict(self, T):
        return np.full(len(T), np.inf) if self.wrong == "finite" else np.full(len(T), float(len(T)))


def test_what_is_wrong_with_answers_is_said():
    assert random_cases.fault(_Fickle("finite"), np.zeros((3, 1))) == "predict is not finite"
    assert random_cases.fault(_Fickle("batch"), np.zeros((3, 1))) == "predict of a row alone is off by 2"


def test_a_run_goes_on_where_it_was_and_writes_what_it_found(tmp_path, monkeypatch, capsys):
    tried = []

    def attack(number, **_):
        tried.append(number)
        outcome = ("fitted", "ValueError", "failed")[number % 3]
        return random_cases.Found(outcome, "case 5 is wrong" if outcome == "failed" else "")

    monkeypatch.setattr(random_cases, "attack", attack)
    page = tmp_path / "page.md"
    options = ["--seed", "3", "--journal", str(tmp_path / "j.jsonl"), "--results", str(page)]
    for cases, more, status in (("2", [], 0), ("4", [], 1), ("4", ["--again"], 1)):
        monkeypatch.setattr("sys.argv", ["random_cases.py", cases, *options, *more])
        assert random_cases.main() == status
    assert tried == [3, 4, 5, 6, 5]
    assert "| all | 4 | 2 | 1 | 1 |" in page.read_text()
    assert "- case 5 is wrong" in page.read_text()
    assert "1 of 4 failed" in capsys.readouterr().out


def test_steps_towards_a_mode_that_are_no_numbers_end_the_search_for_it():
    # weights of 9e29 of the 1e30 there may be, and sentinels
    assert random_cases.attack(814686) == random_cases.Found("fitted")
