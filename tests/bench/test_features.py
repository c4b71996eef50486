"""What a problem is like: closed forms, units that do not count, and estimates beside exact figures."""

from dataclasses import replace

import numpy as np
import pytest
from closed_forms import column_of_blocks, small_lcp, table_with_four_legs, two_masses_on_a_rod
from recorded import FOLDER, needs_recorded

from stickslip import scenes
from stickslip.bench.collections import spectrum
from stickslip.bench.collections.features import Features
from stickslip.files import read_record
from stickslip.problem.box import BoxProblem
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.sets import coulomb, free, rolling, torsional


def table_eigenvalues() -> np.ndarray:
    """Of M^-1/2 H H' M^-1/2 for `table_with_four_legs`: sliding is coupled with tipping, the rest is not."""
    m, tip, turn = 3.0, 0.4, 0.5
    coupled = np.array([[4.0 / m, 1.6 / np.sqrt(m * tip)], [1.6 / np.sqrt(m * tip), 4.64 / tip]])
    return np.concatenate([np.linalg.eigvalsh(coupled), [4.0 / m, 8.0 / turn]])


def test_a_box_on_four_corners_has_six_independent_impulses_of_twelve() -> None:
    features = Features.of(table_with_four_legs().problem, spectrum=True)
    expected = table_eigenvalues()
    assert (features.kind, features.contacts, features.dimension) == ("global", 4, 3)
    assert (features.size, features.velocities, features.rank) == (12, 6, 6)
    assert features.conditioning == pytest.approx(expected.max() / expected.min(), rel=1e-12)
    assert not features.estimated


def test_the_form_of_a_problem_does_not_count() -> None:
    for problem in (table_with_four_legs().problem, column_of_blocks().problem):
        whole = Features.of(problem, spectrum=True)
        reduced = Features.of(reduce_to_contacts(problem).problem, spectrum=True)
        assert (reduced.kind, reduced.mass_ratio) == ("local", None)
        assert reduced.rank == whole.rank
        assert reduced.conditioning == pytest.approx(whole.conditioning, rel=1e-9)


def test_mass_ratio_is_that_of_bodies_not_of_their_inertias() -> None:
    known = column_of_blocks(count=3).problem
    masses = np.array([1.0, 8.0, 2.0])
    blocks = np.stack([np.diag([m, m, m, 1e-3, 1e-3, 1e-3]) for m in masses])
    problem = GlobalProblem(blocks, known.f, known.H, known.u_bias, known.K)
    assert Features.of(problem, spectrum=True).mass_ratio == 8.0
    sparse = GlobalProblem(problem.M.sparse, known.f, known.H_sparse(), known.u_bias, known.K)
    assert Features.of(sparse, spectrum=True).mass_ratio == 8.0
    # A mass that differs with the direction is none of a body.
    uneven = np.diag([1.0, 2.0, 5.0])
    one = GlobalProblem(uneven, np.zeros(3), np.eye(3), np.zeros(3), coulomb([0.5]))
    assert Features.of(one, spectrum=True).mass_ratio == 5.0


def test_units_of_mass_do_not_count() -> None:
    problem = scenes.make("wall-problem", rows=2, columns=3)
    heavy = GlobalProblem(1024.0 * problem.M.sparse, problem.f, problem.H, problem.u_bias, problem.K)
    assert Features.of(heavy, spectrum=True) == Features.of(problem, spectrum=True)


def test_joints_are_eliminated() -> None:
    # One contact on two masses that move as one: W = I / (m1 + m2).
    problem = two_masses_on_a_rod().problem
    features = Features.of(problem, spectrum=True)
    assert (features.size, features.equalities, features.rank) == (2, 2, 2)
    assert features.conditioning == pytest.approx(1.0, rel=1e-12)
    # Said twice they are no more than said once.
    twice = GlobalProblem(
        problem.M, problem.f, problem.H, problem.u_bias, problem.K,
        np.hstack([problem.G_sparse().toarray()] * 2), np.zeros(4),
    )  # fmt: skip
    assert replace(Features.of(twice, spectrum=True), equalities=2) == features


def test_joints_are_eliminated_by_sparse_factors_too(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_masses_on_a_rod().problem
    pulled = spectrum._eliminated(problem)
    W = problem.H_sparse().T @ pulled(problem.H_sparse().toarray())
    np.testing.assert_allclose(W, np.eye(2) / 3.0, atol=1e-10)


def test_free_blocks_are_no_contacts() -> None:
    K = coulomb([0.5]) + free(2)
    features = Features.of(ContactProblem(np.eye(5), np.zeros(5), K))
    assert (features.contacts, features.dimension, features.equalities, features.size) == (1, 3, 2, 5)
    assert features.rank is None


def test_rolling_is_told_from_torsion_and_from_none() -> None:
    def rolls(K) -> bool:
        return Features.of(ContactProblem(np.eye(K.size), np.zeros(K.size), K)).rolling

    assert rolls(rolling([0.5], [0.1]) + coulomb([0.3]))
    assert not rolls(torsional([0.5], [0.1]))
    assert not rolls(rolling([0.5], [0.0]))


def test_box_problems_are_their_matrix() -> None:
    features = Features.of(small_lcp().problem, spectrum=True)
    assert (features.kind, features.contacts, features.rank) == ("box", 2, 2)
    assert features.conditioning == pytest.approx(3.0, rel=1e-14)
    nothing = BoxProblem(np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.full(2, np.inf))
    assert Features.of(nothing, spectrum=True).rank == 0
    assert Features.of(nothing, spectrum=True).conditioning is None


@pytest.mark.parametrize(
    ("name", "given"), [("wall-problem", {"rows": 3}), ("packing-problem", {"spheres": 60})]
)
def test_estimates_beside_exact_figures(name, given, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = scenes.make(name, **given)
    exact = Features.of(problem, spectrum=True)
    monkeypatch.setattr(spectrum, "DENSE", 0)
    monkeypatch.setattr(spectrum, "MOST", 80)
    estimate = Features.of(problem, spectrum=True)
    assert estimate.estimated
    assert estimate == Features.of(problem, spectrum=True)
    assert estimate.rank == pytest.approx(exact.rank, rel=0.03)
    assert exact.conditioning / 20.0 < estimate.conditioning < exact.conditioning * (1.0 + 1e-6)
    # By W itself, whose null space is half of all.
    local = Features.of(reduce_to_contacts(problem).problem, spectrum=True)
    assert local.estimated
    assert local.rank == pytest.approx(exact.rank, rel=0.03)


def test_facts_of_a_file_come_back_and_nonsense_does_not() -> None:
    plain = Features.of(table_with_four_legs().problem)
    full = Features.of(table_with_four_legs().problem, spectrum=True)
    assert plain.with_facts(full.facts()) == full
    for wrong in ({"rank": "13"}, {"rank": "-1"}, {"rank": "many"}, {"rank": "nan"}, {"conditioning": "0.5"}):
        assert plain.with_facts(wrong) == plain


@needs_recorded
def test_figures_are_those_that_fclib_says() -> None:
    record = read_record(FOLDER / "friction" / "LMGC_100_PR_PerioBox-i00361-60-03000.hdf5")
    features = Features.of(record.problem, spectrum=True)
    assert features.rank == int(record.info["W.rank"])
    assert features.conditioning == pytest.approx(float(record.info["W.cond"]), rel=1e-9)
