"""Exponents against power laws that are known."""

import math

import numpy as np
import pytest
from bench.campaigns import campaign

from stickslip.bench.analysis.costs import Grid
from stickslip.bench.analysis.scaling import power_law, scaling


def family(sizes, seconds):
    problems = {f"pile/{k}": n for k, n in enumerate(sizes)}
    return Grid(campaign(problems, {(name, "one"): t for name, t in zip(problems, seconds, strict=True)}))


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 1.37, 3.0])
def test_an_exact_power_law(exponent) -> None:
    n = np.array([10, 20, 40, 80, 160])
    found = scaling(family(n, (2e-5 * n**exponent).tolist()), "pile", "one", 1e-4)
    assert found.exponent == pytest.approx(exponent, abs=1e-12)
    assert found.error == pytest.approx(0.0, abs=1e-12)
    assert found.factor == pytest.approx(2e-5)


def test_the_standard_error_is_the_spread_of_the_exponents() -> None:
    rng = np.random.default_rng(5)
    n = np.repeat([10.0, 30.0, 100.0, 300.0, 1000.0], 2)
    fits = [power_law(n, 1e-4 * n**1.4 * np.exp(rng.normal(0.0, 0.3, len(n)))) for _ in range(2000)]
    exponents, errors, _ = np.array(fits).T
    assert exponents.mean() == pytest.approx(1.4, abs=0.01)
    assert math.sqrt((errors**2).mean()) == pytest.approx(exponents.std(), rel=0.05)
    exact = 0.3 / math.sqrt(((np.log(n) - np.log(n).mean()) ** 2).sum())
    assert exponents.std() == pytest.approx(exact, rel=0.05)


def test_all_problems_of_one_size_count() -> None:
    found = scaling(family([10, 10, 40, 40], [1.0, 3.0, 4.0, 12.0]), "pile", "one", 1e-4)
    assert found.exponent == pytest.approx(1.0)
    assert found.error == pytest.approx(math.log(3.0) / math.sqrt(2.0) / math.log(4.0))


@pytest.mark.parametrize(
    ("sizes", "seconds", "reason"),
    [
        ([10, 20, 40], [1.0, 2.0, 4.0], "3 solved, 4 needed"),
        ([10, 20, 40, 80], [1.0, 2.0, 4.0, "timeout"], "3 solved, 4 needed"),
        ([10, 20, 30, 39], [1.0, 2.0, 3.0, 4.0], "within a factor of 3.9"),
        ([10, 10, 10, 10], [1.0, 2.0, 3.0, 4.0], "within a factor of 1"),
        ([0, 10, 20, 40], [1.0, 2.0, 3.0, 4.0], "3 solved, 4 needed"),
        ([], [], "0 solved, 4 needed"),
    ],
)
def test_too_little_to_fit_is_said(sizes, seconds, reason) -> None:
    found = scaling(family(sizes, seconds), "pile", "one", 1e-4)
    assert found.exponent is None
    assert found.error is None
    assert reason in found.reason


def test_a_factor_of_four_is_enough() -> None:
    assert scaling(family([10, 20, 30, 40], [1.0, 2.0, 3.0, 4.0]), "pile", "one", 1e-4).exponent is not None


def test_equal_sizes_are_no_power_law() -> None:
    with pytest.raises(ValueError, match="too few"):
        power_law([3, 3, 3], [1, 2, 3])
