"""Small problems of every kind and form, made here: what the tests of files write and read."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from stickslip.problem.box import BoxProblem, lcp, mlcp, relay
from stickslip.problem.contact import ContactProblem, GlobalProblem, Level
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.jacobian import ContactBlocks, contact_blocks
from stickslip.problem.sets import (
    ProductSet,
    coulomb,
    free,
    friction,
    interval,
    nonnegative,
    rolling,
    torsional,
)
from stickslip.problem.solution import Problem

rng = np.random.default_rng(20240611)


def spd(n: int) -> np.ndarray:
    A = rng.normal(size=(n, n))
    return A @ A.T + np.eye(n) * n


def sparse(m: int, n: int, density: float = 0.4) -> sp.csr_array:
    return sp.csr_array(sp.random_array((m, n), density=density, rng=rng))


def local(K: ProductSet, form: Callable = np.asarray, level: Level = Level.VELOCITY) -> ContactProblem:
    return ContactProblem(form(spd(K.size)), rng.normal(size=K.size), K, level)


def thin(W: np.ndarray) -> sp.csr_array:
    """W without half of its entries, as a SciPy matrix."""
    return sp.csr_array(np.where(rng.random(W.shape) < 0.5, W, 0.0))


def in_bodies(nv: int, K: ProductSet, joints: int = 0, mass: Callable = np.asarray) -> GlobalProblem:
    """A global problem with general matrices."""
    G = sparse(nv, joints) if joints else None
    g_bias = rng.normal(size=joints)
    return GlobalProblem(
        mass(spd(nv)), rng.normal(size=nv), sparse(nv, K.size), rng.normal(size=K.size), K, G, g_bias
    )


def blocks(K: ProductSet, count: int, k: int = 6) -> ContactBlocks:
    first = rng.integers(0, count, len(K))
    second = (first + rng.integers(1, count, len(K))) % count
    second[::2] = -1
    return contact_blocks(np.stack([first, second], axis=1), rng.normal(size=(K.size, 2, k)), K)


def of_bodies(K: ProductSet, count: int = 3, joints: bool = False) -> GlobalProblem:
    """A global problem without matrices: contact blocks over bodies with block masses."""
    M = np.stack([spd(6) for _ in range(count)])
    G = blocks(free(3, 5), count) if joints else None
    g_bias = rng.normal(size=8 if joints else 0)
    return GlobalProblem(
        M, rng.normal(size=6 * count), blocks(K, count), rng.normal(size=K.size), K, G, g_bias
    )


def mixed() -> ProductSet:
    K = coulomb([0.3, 0.0]) + free(2) + nonnegative(2) + interval([-1.0, -np.inf], [2.5, 3.0])
    return K + rolling([0.5], [0.01]) + torsional([0.4], [0.02]) + coulomb([0.7], 2)


def recipes() -> dict[str, Callable[[], Problem]]:
    """How each sample is made, by its name."""
    mu = rng.uniform(0.0, 1.0, 4)
    K3, K2, K5 = coulomb(mu), coulomb(mu, 2), rolling(mu[:2], mu[2:])
    return {
        "coulomb 3D dense": lambda: local(K3),
        "coulomb 3D block": lambda: local(K3, thin),
        "coulomb 2D dense": lambda: local(K2),
        "coulomb 2D block": lambda: local(K2, thin),
        "rolling dense": lambda: local(K5),
        "rolling block": lambda: local(K5, thin),
        "one contact": lambda: local(coulomb([0.5])),
        "no contact": lambda: local(coulomb([])),
        "torsional": lambda: local(torsional(mu[:2], mu[2:])),
        "friction of another family": lambda: local(friction((1, 3, 2), rng.uniform(size=(3, 3))), thin),
        "free": lambda: local(free(3, 1, 2), thin),
        "nonnegative": lambda: local(nonnegative(5)),
        "interval": lambda: local(interval([-1.0, 0.0, -np.inf], [1.0, 0.0, 2.0])),
        "mixed dense": lambda: local(mixed()),
        "mixed block": lambda: local(mixed(), thin),
        "acceleration": lambda: local(K3, level=Level.ACCELERATION),
        "position": lambda: local(K3, thin, Level.POSITION),
        "global": lambda: in_bodies(9, K3, mass=sp.csr_array),
        "global dense": lambda: in_bodies(9, K3),
        "global square": lambda: in_bodies(12, K3),
        "global 2D": lambda: in_bodies(7, K2),
        "global rolling": lambda: in_bodies(12, K5),
        "global with joints": lambda: in_bodies(12, K3, joints=4),
        "global mixed": lambda: in_bodies(12, mixed(), joints=3),
        "global position": lambda: GlobalProblem(
            np.eye(3), np.ones(3), np.eye(3), np.ones(3), coulomb([0.2]), level=Level.POSITION
        ),
        "global no contact": lambda: in_bodies(6, coulomb([]), mass=sp.csr_array),
        "bodies": lambda: of_bodies(K3),
        "bodies rolling": lambda: of_bodies(K5),
        "bodies with joints": lambda: of_bodies(K3, joints=True),
        "bodies mixed": lambda: of_bodies(mixed(), joints=True),
        "matrix-free": lambda: reduce_to_contacts(of_bodies(K3)).problem,
        "matrix-free mixed": lambda: reduce_to_contacts(of_bodies(mixed(), joints=True)).problem,
        "lcp dense": lambda: lcp(spd(5), rng.normal(size=5)),
        "lcp sparse": lambda: lcp(thin(spd(6)), rng.normal(size=6)),
        "lcp of one": lambda: lcp([[2.0]], [-1.0]),
        "lcp of nothing": lambda: lcp(np.zeros((0, 0)), []),
        "mlcp dense": lambda: mlcp(spd(5), rng.normal(size=5), [1, 0, 0, 1, 0]),
        "mlcp sparse": lambda: mlcp(thin(spd(4)), rng.normal(size=4), [0, 1, 1, 0]),
        "mlcp of equations": lambda: mlcp(spd(3), rng.normal(size=3), [1, 1, 1]),
        "relay": lambda: relay(spd(3), rng.normal(size=3)),
        "box": lambda: BoxProblem(
            thin(spd(4)), rng.normal(size=4), [-np.inf, 0, -2, 1], [np.inf, np.inf, -2, 7]
        ),
    }


RECIPES = recipes()


@cache
def made() -> dict[str, Problem]:
    """All samples by name; on first use, for kernels are compiled on the way."""
    return {name: recipe() for name, recipe in RECIPES.items()}


IN_TEXT = {
    "coulomb 3D dense", "coulomb 3D block", "coulomb 2D dense", "coulomb 2D block", "rolling dense",
    "rolling block", "one contact", "no contact", "global", "global dense", "global square", "global 2D",
    "global rolling", "global no contact", "bodies", "bodies rolling", "lcp dense", "lcp sparse",
    "lcp of one", "lcp of nothing", "mlcp dense", "mlcp sparse", "mlcp of equations",
}  # fmt: skip
IN_FCLIB = {name for name in IN_TEXT if "lcp" not in name} | {"global with joints", "bodies with joints"}


@pytest.fixture(params=RECIPES)
def sample(request: pytest.FixtureRequest) -> Problem:
    """Every sample in turn."""
    return made()[request.param]


@pytest.fixture(params=sorted(IN_TEXT))
def text_sample(request: pytest.FixtureRequest) -> Problem:
    """Every sample that text files can hold."""
    return made()[request.param]


@pytest.fixture(params=sorted(RECIPES.keys() - IN_TEXT))
def sample_beyond_text(request: pytest.FixtureRequest) -> Problem:
    """Every sample that text files cannot hold."""
    return made()[request.param]


@pytest.fixture(params=sorted(IN_FCLIB))
def fclib_sample(request: pytest.FixtureRequest) -> Problem:
    """Every sample that FCLIB has a place for."""
    return made()[request.param]


@pytest.fixture(params=sorted(RECIPES.keys() - IN_FCLIB))
def sample_beyond_fclib(request: pytest.FixtureRequest) -> Problem:
    """Every sample that goes into our own layout."""
    return made()[request.param]


@pytest.fixture(scope="session")
def samples() -> dict[str, Problem]:
    """All samples by name."""
    return made()
