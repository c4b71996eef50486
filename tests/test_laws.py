"""Nonsmooth laws: their sets, what an impact owes, and what is refused."""

import numpy as np
import pytest

from stickslip.kernels import cones
from stickslip.laws import (
    Box,
    Complementarity,
    Equality,
    Law,
    Mixed,
    NewtonImpact,
    PoissonImpact,
    Relay,
)
from stickslip.problem.checks import ProblemError

FREE, SIGN, BETWEEN, CONE = cones.FREE, cones.NONNEGATIVE, cones.INTERVAL, cones.FRICTION

LAWS = {
    Complementarity(): (1, [SIGN], [0]),
    Complementarity(3): (3, [SIGN] * 3, [0, 1, 2]),
    Equality(3): (3, [FREE], []),
    Mixed(2, 2): (4, [FREE, SIGN, SIGN], [2, 3]),
    Mixed(0, 1): (1, [SIGN], [0]),
    Mixed(2, 0): (2, [FREE], []),
    Box(-1.0, (2.0, np.inf)): (2, [BETWEEN] * 2, []),
    Relay(2.0, 3): (3, [BETWEEN] * 3, []),
    Relay((1.0, 2.0)): (2, [BETWEEN] * 2, []),
    NewtonImpact(e=0.5): (1, [SIGN], [0]),
    NewtonImpact(contacts=2): (2, [SIGN] * 2, [0, 1]),
    NewtonImpact(mu=0.3, dimension=2, contacts=2): (4, [CONE] * 2, [0, 2]),
    NewtonImpact(mu=(0.3, 0.4), contacts=2): (6, [CONE] * 2, [0, 3]),
    PoissonImpact(mu=0.3, mu_roll=0.01, contacts=2): (10, [CONE] * 2, [0, 5]),
    NewtonImpact(mu=0.3, mu_spin=0.02): (4, [CONE], [0]),
    NewtonImpact(mu=0.3, mu_roll=(0.01, 0.0), mu_spin=0.02, contacts=2): (12, [CONE] * 2, [0, 6]),
    PoissonImpact(e=(0.1, 0.9), contacts=2): (2, [SIGN] * 2, [0, 1]),
}


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_sets_and_gaps(law):
    size, kinds, normals = LAWS[law]
    assert isinstance(law, Law)
    assert law.size == size
    assert law.K.kind.tolist() == kinds
    assert law.normals.tolist() == normals
    assert law.unilateral.tolist() == [kind in (SIGN, CONE) for kind in kinds]
    assert law.restitution.shape == (len(kinds),)
    assert law.impulses(0.1).size == size


def test_bounds_are_forces_and_cones_are_not():
    box = Box((-1.0, -np.inf), (2.0, 3.0)).impulses(0.01)
    assert box.lower.tolist() == [-0.01, -np.inf]
    assert box.upper.tolist() == [0.02, 0.03]
    law = Box(-1.0, 2.0)
    assert [law.impulses(h).upper.tolist() for h in (0.1, 0.2, 0.1)] == [[0.2], [0.4], [0.2]]
    law = NewtonImpact(mu=0.5)
    assert law.impulses(0.01) is law.K


def test_an_impact_owes_what_came_in():
    law = NewtonImpact(e=(0.5, 0.8), mu=0.3, contacts=2)
    before = np.array([-2.0, 7.0, 7.0, 3.0, 7.0, 7.0])
    assert law.bias(before).tolist() == [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert law.bias(-before).tolist() == [0.0, 0.0, 0.0, 0.8 * -3.0, 0.0, 0.0]


def test_only_newtons_law_biases_the_velocity():
    for law in (PoissonImpact(e=0.5), Complementarity(), Equality(), Relay()):
        assert law.bias(np.array([-2.0])).tolist() == [0.0]
    assert (NewtonImpact.impact, PoissonImpact.impact, Equality.impact) == ("newton", "poisson", "")


def test_a_list_that_changes_later_does_not_change_the_law():
    mu = [0.1, 0.2]
    law = NewtonImpact(mu=mu, contacts=2)
    mu[0] = 9.0
    assert law.mu == (0.1, 0.2)
    assert law == NewtonImpact(mu=(0.1, 0.2), contacts=2)
    assert hash(law) == hash(NewtonImpact(mu=np.array([0.1, 0.2]), contacts=2))


BAD = {
    "no components": lambda: Complementarity(0),
    "half a component": lambda: Equality(1.5),
    "an empty mixture": lambda: Mixed(0, 0),
    "a negative count": lambda: Mixed(-1, 2),
    "bounds the wrong way round": lambda: Box(1.0, -1.0),
    "a bound that is no number": lambda: Box(np.nan, 1.0),
    "bounds that do not match": lambda: Box((0.0, 0.0), (1.0, 1.0, 1.0)),
    "an empty box": lambda: Box((), ()),
    "no levels": lambda: Relay(()),
    "a negative level": lambda: Relay(-1.0),
    "levels that do not match": lambda: Relay((1.0, 2.0), 3),
    "a text": lambda: NewtonImpact(e="bouncy"),
    "too much restitution": lambda: NewtonImpact(e=1.1),
    "negative restitution": lambda: PoissonImpact(e=-0.1),
    "restitution that is no number": lambda: NewtonImpact(e=np.nan),
    "restitutions that do not match": lambda: NewtonImpact(e=(0.1, 0.2), contacts=3),
    "negative friction": lambda: NewtonImpact(mu=-0.1),
    "friction that is no number": lambda: NewtonImpact(mu=np.nan),
    "frictions that do not match": lambda: NewtonImpact(mu=(0.1, 0.2), contacts=3),
    "negative rolling friction": lambda: NewtonImpact(mu=0.1, mu_roll=-1.0),
    "negative torsional friction": lambda: NewtonImpact(mu=0.1, mu_spin=-1.0),
    "infinite torsional friction": lambda: NewtonImpact(mu=0.1, mu_spin=np.inf),
    "spinning alone": lambda: NewtonImpact(mu_spin=0.1),
    "spinning in a plane": lambda: NewtonImpact(mu=0.1, mu_spin=0.1, dimension=2),
    "rolling alone": lambda: NewtonImpact(mu_roll=0.1),
    "rolling in a plane": lambda: NewtonImpact(mu=0.1, mu_roll=0.1, dimension=2),
    "four dimensions": lambda: NewtonImpact(mu=0.1, dimension=4),
    "four dimensions without friction": lambda: NewtonImpact(dimension=4),
    "no contacts": lambda: NewtonImpact(contacts=0),
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD.keys())
def test_what_is_no_law_is_refused_when_it_is_made(make):
    with pytest.raises(ProblemError, match=r"^(Complementarity|Equality|Mixed|Box|Relay|\w+Impact): "):
        make()


def test_messages_name_the_field_and_the_value():
    with pytest.raises(ProblemError, match=r"NewtonImpact: e is 1.1; restitution must lie in \[0, 1\]"):
        NewtonImpact(e=1.1)
    with pytest.raises(ProblemError, match=r"NewtonImpact: mu of contact 1 is -0.5"):
        NewtonImpact(mu=(0.1, -0.5), contacts=2)


def test_a_contact_is_its_coefficients():
    law = NewtonImpact(e=(0.5, 0.6), mu=0.3, mu_spin=0.02, contacts=2)
    assert law.coefficients.tolist() == [[0.3, 0.0, 0.02, 0.5], [0.3, 0.0, 0.02, 0.6]]
    assert [block.kind for block in law.K] == ["torsional", "torsional"]
    both = NewtonImpact(mu=0.3, mu_roll=0.01, mu_spin=0.02).K[0]
    assert (both.groups, both.coefficients) == ((2, 2, 1), (0.3, 0.01, 0.02))
    assert NewtonImpact(e=0.4).coefficients.tolist() == [[0.0, 0.0, 0.0, 0.4]]
    for row in ([0.3, 0.01, 0.02, 0.5], [0.3, 0.0, 0.02, 0.0], [0.0, 0.0, 0.0, 1.0]):
        for kind in (NewtonImpact, PoissonImpact):
            again = kind.of(row)
            assert type(again) is kind
            assert again.coefficients[0].tolist() == row
    assert NewtonImpact.of([0.3, 0.0, 0.0, 0.5]) == NewtonImpact(e=0.5, mu=0.3)
