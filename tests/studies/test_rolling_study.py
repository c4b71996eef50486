"""The rolling study: its problems, what holds of its runs, and what it prints."""

import numpy as np
import pytest

from stickslip.solvers.cone_point import ALGORITHMS
from stickslip.studies.rolling_runs import FRICTIONS, SHOWN, Case, Run, cases, record
from stickslip.studies.rolling_tables import PRINTED, profile_costs, totals_table

TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def hundred() -> dict[tuple[str, str], Run]:
    """The four algorithms with both kinds of step at n = 100."""
    problem = SHOWN[100].problem()
    return {
        (a, steps): record(SHOWN[100], a, steps=steps, problem=problem)
        for a in ALGORITHMS
        for steps in ("equal", "separate")
    }


def test_at_least_two_hundred_problems() -> None:
    chosen = cases()
    assert len(set(chosen)) == len(chosen) >= 200
    assert {case.family for case in chosen} == {"pile", "chute"}
    assert {case.friction for case in chosen} == set(FRICTIONS)
    assert {case.bed for case in chosen} == {"rough", "smooth"}
    assert set(cases(quick=True)) >= set(SHOWN.values())


def test_contacts_from_two_to_thousands_evenly_in_the_logarithm() -> None:
    contacts = np.array([case.problem().contacts for case in cases()])
    assert contacts.min() == 2
    assert contacts.max() > 2000
    share = np.histogram(np.log10(contacts), bins=np.linspace(np.log10(2), np.log10(3000), 7))[0] / len(
        contacts
    )
    assert share.min() > 0.08
    assert share.max() < 0.25


@pytest.mark.parametrize("contacts", SHOWN)
def test_the_shown_problems_have_their_exact_number_of_contacts(contacts: int) -> None:
    problem = SHOWN[contacts].problem()
    assert problem.contacts == contacts
    assert problem.K.family == (2, 2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_with_equal_steps_dinfeas_never_grows(hundred, algorithm: str) -> None:
    run = hundred[algorithm, "equal"]
    assert run.growths == 0
    np.testing.assert_array_equal(run.alpha[1:, 0], run.alpha[1:, 1])


@pytest.mark.parametrize("algorithm", ["mehrotra", "nt-qp", "nt-f"])
def test_with_separate_steps_it_does(hundred, algorithm: str) -> None:
    run = hundred[algorithm, "separate"]
    assert run.growths > 0
    assert (run.alpha[1:, 0] != run.alpha[1:, 1]).any()


def test_one_step_shrinks_both_infeasibilities_by_what_it_leaves(hundred) -> None:
    """(1.19): the residuals of the linear equations fall by 1 - alpha, as long as rounding lets them."""
    run = hundred["mehrotra", "equal"]
    for k in range(1, 6):
        np.testing.assert_allclose(
            run.errors[k, :2], (1.0 - run.alpha[k, 0]) * run.errors[k - 1, :2], rtol=1e-6
        )


def test_both_ways_to_write_the_scaling_are_one(hundred) -> None:
    by_point, by_f = hundred["nt-qp", "equal"], hundred["nt-f", "equal"]
    np.testing.assert_allclose(by_point.errors[:6], by_f.errors[:6], rtol=1e-8)
    np.testing.assert_allclose(by_point.alpha[1:6], by_f.alpha[1:6], rtol=1e-8)


def test_predictor_and_corrector_save_iterations(hundred) -> None:
    simple, mehrotra = (hundred[a, "equal"].first(1e-10) for a in ("simple", "mehrotra"))
    assert mehrotra < 0.6 * simple


def test_the_four_meet_on_the_judge(hundred) -> None:
    for algorithm in ALGORITHMS:
        assert hundred[algorithm, "equal"].judged.min() < 1e-7


def made_up(errors: list[float], seconds: list[float], algorithm: str = "nt-f") -> Run:
    column = np.array(errors)
    return Run(
        SHOWN[2], 2, algorithm, "equal", np.stack([column, 0.5 * column, 0.1 * column, 0.0 * column], axis=1),
        0.2 * column, 10.0 * column, np.full((column.size, 2), 0.9), np.array(seconds), "",
    )  # fmt: skip


def test_iterations_and_time_to_a_tolerance() -> None:
    run = made_up([1.0, 1e-5, 1e-12, 1e-14], [0.1, 0.2, 0.3, 0.4])
    assert run.iterations == 3
    assert (run.first(1e-12), run.time(1e-12)) == (2, 0.3)
    assert (run.first(1e-12, "judged"), run.time(1e-12, "judged")) == (3, 0.4)
    assert run.first(1e-16) is None
    assert run.time(1e-16) == np.inf
    assert run.until(1e-5).iterations == 1
    assert run.until(1e-16) is run


def test_growths_leave_rounding_aside() -> None:
    assert made_up([1.0, 0.5, 0.6, 1e-14, 5e-14], [0.0] * 5).growths == 1


def test_totals_count_misses_and_compare_what_all_solve() -> None:
    good, bad = made_up([1.0, 1e-13], [0.1, 0.2]), made_up([1.0, 1e-3, 1e-4], [0.1, 0.2, 0.3])
    runs = {a: [good, good] for a in ALGORITHMS} | {"simple": [good, bad]}
    table = totals_table(runs, TOLERANCE)
    rows = {row[0]: row for row in table.rows}
    assert rows["simple"][1:4] == (1, 1, 1)
    assert rows["mehrotra"][1:4] == (2, 0, 1)
    assert [rows[a][5] for a in ALGORITHMS] == [PRINTED[a][0] for a in ALGORITHMS]
    np.testing.assert_array_equal(profile_costs(runs, TOLERANCE, "own")[1], [np.inf, 0.2, 0.2, 0.2])


def test_a_case_says_what_it_is() -> None:
    assert Case("chute", 7, 3, FRICTIONS[0], "smooth").name == "smooth chute, 7 spheres, mu 0.3, seed 3"
