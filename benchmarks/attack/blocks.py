"""Random blocks of impulses, with impulses and velocities that obey the contact law."""

import numpy as np

from benchmarks.attack.cases import Array, Block

Random = np.random.Generator

SLIDING = {"coulomb2d": (1,), "coulomb3d": (2,), "rolling": (2, 2), "torsional": (2, 1)}
KINDS = (*SLIDING, "nonnegative", "interval", "free")


def spread(rng: Random, decades: float) -> float:
    """Return a positive number, log-uniform over so many decades around 1."""
    return float(10.0 ** rng.uniform(-0.5 * decades, 0.5 * decades))


def friction(rng: Random) -> float:
    """Return a coefficient of friction: ordinary, zero, huge or tiny."""
    return float(rng.choice([rng.uniform(0.05, 1.5), 0.0, spread(rng, 1.0) * 1e3, spread(rng, 2.0) * 1e-6],
                            p=[0.76, 0.12, 0.06, 0.06]))  # fmt: skip


def block(rng: Random, kind: str) -> Block:
    """Return a random block of a kind."""
    if kind in SLIDING:
        groups = SLIDING[kind]
        return Block("friction", 1 + sum(groups), groups, tuple(friction(rng) for _ in groups))
    if kind == "free":
        size = int(rng.integers(1, 4))
        return Block("free", size)
    if kind == "nonnegative":
        return Block("nonnegative", 1, (), (), 0.0, np.inf)
    low, high = sorted(spread(rng, 2.0) * rng.normal(size=2))
    which = rng.integers(6)
    if which == 0:
        low = -np.inf
    elif which == 1:
        high = np.inf
    elif which == 2:
        high = low
    return Block("interval", 1, (), (), float(low), float(high))


def blocks(rng: Random, largest: int = 12, kinds: tuple[str, ...] | None = None) -> tuple[Block, ...]:
    """Return random blocks, of one kind or of several; small numbers are more frequent."""
    count = 1 + min(int(rng.geometric(0.25)) - 1, largest - 1)
    if kinds is None:
        mixed = rng.random() < 0.35
        kinds = KINDS if mixed else (str(rng.choice(KINDS[:5], p=[0.2, 0.45, 0.15, 0.1, 0.1])),)
    return tuple(block(rng, str(rng.choice(kinds))) for _ in range(count))


def lawful(rng: Random, K: tuple[Block, ...], decades: float = 0.0) -> tuple[Array, Array]:
    """Return impulses r and velocities u that obey the law on every block, also in degenerate states.

    decades: range of the sizes of the impulses.
    """
    pairs = [_lawful_block(rng, b) for b in K]
    sizes = [spread(rng, decades) for _ in K]
    r = np.concatenate([np.zeros(0), *(p[0] if b.kind == "interval" else s * p[0]
                                       for p, s, b in zip(pairs, sizes, K, strict=True))])  # fmt: skip
    u = np.concatenate([np.zeros(0), *(p[1] for p in pairs)])
    return r, u


def _lawful_block(rng: Random, b: Block) -> tuple[Array, Array]:
    """Return an impulse and a velocity that obey the law on one block."""
    r, u = np.zeros(b.size), np.zeros(b.size)
    if b.kind == "free":
        return rng.normal(size=b.size), u
    if b.kind == "interval":
        return _lawful_interval(rng, b)
    state = rng.choice(["separate", "press", "graze"], p=[0.3, 0.6, 0.1])
    if state == "separate":
        u[0] = rng.uniform(0.1, 1.0)
        u[1:] = rng.normal(size=b.size - 1)
    elif state == "press":
        r[0] = rng.uniform(0.1, 1.0)
        start = 1
        for width, mu in zip(b.groups, b.mu, strict=True):
            direction = rng.normal(size=width)
            direction /= np.linalg.norm(direction)
            slides = rng.random() < 0.5
            share = 1.0 if slides else rng.choice([rng.uniform(0.0, 0.95), 1.0, 0.0], p=[0.8, 0.1, 0.1])
            r[start : start + width] = -share * mu * r[0] * direction
            if slides:
                u[start : start + width] = rng.uniform(0.1, 1.0) * direction
            start += width
    return r, u


def _lawful_interval(rng: Random, b: Block) -> tuple[Array, Array]:
    """Return an impulse and a velocity that obey the law on an interval, often at one of its bounds."""
    low, high = b.bounds
    speed = float(rng.choice([0.0, rng.uniform(0.1, 1.0)], p=[0.2, 0.8]))
    ends = [(b, s) for b, s in ((low, speed), (high, -speed)) if np.isfinite(b)]
    if ends and rng.random() < 0.6:
        r, u = ends[int(rng.integers(len(ends)))]
        return np.array([r]), np.array([u])
    if len(ends) == 2:
        return np.array([rng.uniform(low, high)]), np.zeros(1)
    base, sign = (low, 1.0) if np.isfinite(low) else (high, -1.0)
    return np.array([(base if ends else 0.0) + sign * rng.uniform(0.1, 1.0)]), np.zeros(1)
