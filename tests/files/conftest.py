"""Small problems of every kind and form, made here: what the tests of files write and read."""

from collections.abc import Callable

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


def make() -> dict[str, Problem]:
    mu = rng.uniform(0.0, 1.0, 4)
    K3, K2, K5 = coulomb(mu), coulomb(mu, 2), rolling(mu[:2], mu[2:])
    made: dict[str, Problem] = {
        "coulomb 3D dense": local(K3),
        "coulomb 3D block": local(K3, thin),
        "coulomb 2D dense": local(K2),
        "coulomb 2D block": local(K2, thin),
        "rolling dense": local(K5),
        "rolling block": local(K5, thin),
        "one contact": local(coulomb([0.5])),
        "no contact": local(coulomb([])),
        "torsional": local(torsional(mu[:2], mu[2:])),
        "friction of another family": local(friction((1, 3, 2), rng.uniform(size=(3, 3))), thin),
        "free": local(free(3, 1, 2), thin),
        "nonnegative": local(nonnegative(5)),
        "interval": local(interval([-1.0, 0.0, -np.inf], [1.0, 0.0, 2.0])),
        "mixed dense": local(mixed()),
        "mixed block": local(mixed(), thin),
        "acceleration": local(K3, level=Level.ACCELERATION),
        "position": local(K3, thin, Level.POSITION),
        "global": in_bodies(9, K3, mass=sp.csr_array),
        "global dense": in_bodies(9, K3),
        "global square": in_bodies(12, K3),
        "global 2D": in_bodies(7, K2),
        "global rolling": in_bodies(12, K5),
        "global with joints": in_bodies(12, K3, joints=4),
        "global mixed": in_bodies(12, mixed(), joints=3),
        "global position": GlobalProblem(
            np.eye(3), np.ones(3), np.eye(3), np.ones(3), coulomb([0.2]), level=Level.POSITION
        ),
        "global no contact": in_bodies(6, coulomb([]), mass=sp.csr_array),
        "bodies": of_bodies(K3),
        "bodies rolling": of_bodies(K5),
        "bodies with joints": of_bodies(K3, joints=True),
        "bodies mixed": of_bodies(mixed(), joints=True),
        "matrix-free": reduce_to_contacts(of_bodies(K3)).problem,
        "matrix-free mixed": reduce_to_contacts(of_bodies(mixed(), joints=True)).problem,
        "lcp dense": lcp(spd(5), rng.normal(size=5)),
        "lcp sparse": lcp(thin(spd(6)), rng.normal(size=6)),
        "lcp of one": lcp([[2.0]], [-1.0]),
        "lcp of nothing": lcp(np.zeros((0, 0)), []),
        "mlcp dense": mlcp(spd(5), rng.normal(size=5), [1, 0, 0, 1, 0]),
        "mlcp sparse": mlcp(thin(spd(4)), rng.normal(size=4), [0, 1, 1, 0]),
        "mlcp of equations": mlcp(spd(3), rng.normal(size=3), [1, 1, 1]),
        "relay": relay(spd(3), rng.normal(size=3)),
        "box": BoxProblem(thin(spd(4)), rng.normal(size=4), [-np.inf, 0, -2, 1], [np.inf, np.inf, -2, 7]),
    }
    return made


SAMPLES = make()
IN_TEXT = {
    "coulomb 3D dense", "coulomb 3D block", "coulomb 2D dense", "coulomb 2D block", "rolling dense",
    "rolling block", "one contact", "no contact", "global", "global dense", "global square", "global 2D",
    "global rolling", "global no contact", "bodies", "bodies rolling", "lcp dense", "lcp sparse",
    "lcp of one", "lcp of nothing", "mlcp dense", "mlcp sparse", "mlcp of equations",
}  # fmt: skip
IN_FCLIB = {name for name in IN_TEXT if "lcp" not in name} | {"global with joints", "bodies with joints"}


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Problem:
    """Every sample in turn."""
    return SAMPLES[request.param]


@pytest.fixture(params=sorted(IN_TEXT))
def text_sample(request: pytest.FixtureRequest) -> Problem:
    """Every sample that text files can hold."""
    return SAMPLES[request.param]


@pytest.fixture(params=sorted(SAMPLES.keys() - IN_TEXT))
def sample_beyond_text(request: pytest.FixtureRequest) -> Problem:
    """Every sample that text files cannot hold."""
    return SAMPLES[request.param]


@pytest.fixture(params=sorted(IN_FCLIB))
def fclib_sample(request: pytest.FixtureRequest) -> Problem:
    """Every sample that FCLIB has a place for."""
    return SAMPLES[request.param]


@pytest.fixture(params=sorted(SAMPLES.keys() - IN_FCLIB))
def sample_beyond_fclib(request: pytest.FixtureRequest) -> Problem:
    """Every sample that goes into our own layout."""
    return SAMPLES[request.param]


@pytest.fixture(scope="session")
def samples() -> dict[str, Problem]:
    """All samples by name."""
    return SAMPLES
