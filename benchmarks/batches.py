"""Time of batches: n simulations on one and two threads, compared with single runs and MuJoCo's `rollout`.

    python benchmarks/batches.py                       both models, a minute or two
    python benchmarks/batches.py --models quadrupeds --members 256 --steps 10

Of each model, in one run and in turns: time of a step of one member in a batch on one thread and on two, its
ratio, of the same step in single runs of SINGLE of the members, that are asked step by step (`live.step()`)
and for as many at once, and of MuJoCo's `rollout` on the same number of threads from the same states, with
its own contact. Times are those of the wall, the least of the repeats. On a busy machine a second thread may
find no second core: a bare loop without memory is timed on one thread and on two in the same turns, and says
what could be had.
"""

import argparse
import time
from collections.abc import Callable

import mujoco
import numba
import numpy as np
from mujoco import rollout
from robots import STANCE, quadrupeds, start_of

import stickslip as ss
from stickslip.threads import Team

H = 2e-3
BOXES = 10
SIDE = 0.2
SINGLE = 8
"""Number of members whose single runs are timed, as the costs of members differ by a factor of two."""


def boxes() -> tuple[ss.World, str]:
    """Ten boxes on each other: a world, and the same for MuJoCo."""
    builder, bodies = ss.WorldBuilder(), []
    builder.material("wood", mu=0.5, e=0.0)
    builder.body("floor", ss.Plane(), fixed=True, material="wood")
    for k in range(BOXES):
        x, z = 0.01 * (k % 2), SIDE * (k + 0.5)
        builder.body(f"box {k}", ss.Cuboid((SIDE, SIDE, SIDE)), position=(x, 0, z), mass=8.0, material="wood")
        bodies.append(
            f'<body pos="{x} 0 {z}"><freejoint/>'
            f'<geom type="box" size="{SIDE / 2} {SIDE / 2} {SIDE / 2}" mass="8"/></body>'
        )
    text = f"""<mujoco><option timestep="{H}"/><default><geom friction=".5 .005 .0001"/></default><worldbody>
    <geom type="plane" size="9 9 .1"/>{"".join(bodies)}</worldbody></mujoco>"""
    return builder.build(), text


@numba.njit(nogil=True)
def spin(n: int) -> float:
    """A loop of some milliseconds for a million rounds."""
    total = 0.0
    for i in range(n):
        total += (i % 7) * 0.5 / (1.0 + total)
    return total


def bare(threads: int) -> Callable[[], None]:
    """The loop in eight parts."""

    def run() -> None:
        with Team(threads) as team:
            team.run([lambda: spin(200_000)] * 8)

    return run


def least(calls: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Least time of each call [s], all of them in turns."""
    found = dict.fromkeys(calls, np.inf)
    for turn in range(repeats):
        names = list(calls)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            start = time.perf_counter()
            calls[name]()
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def beside(name: str, n: int, steps: int, settle: int, repeats: int) -> None:
    """One model: a line of times and one of ratios."""
    rng = np.random.default_rng(0)
    if name == "quadrupeds":
        text = quadrupeds(1)
        model: ss.Robot | ss.World = ss.Robot.load(text)
        state = model.state(start_of(model, STANCE))
        v = state.v + 0.02 * rng.standard_normal((n, state.v.size))
    else:
        model, text = boxes()
        state = model.start
        v = state.v + 0.02 * rng.standard_normal((n, state.v.size)) * (np.arange(state.v.size) >= 6)
    batches = {}
    for threads in (1, 2):
        batch = batches[threads] = ss.Batch(model, n, h=H, threads=threads, start=state)
        batch.reset(v=v)
        if name == "quadrupeds":
            batch.controls = STANCE
        batch.step(settle)
    alone = [
        ss.live(model, h=H, start=batches[1].checkpoint(k), record=10**6)
        for k in range(0, n, -(-n // SINGLE))
    ]
    if name == "quadrupeds":
        for live in alone:
            live.data.ctrl[:] = STANCE
    m, start = other(text, batches[1], name)
    control = np.broadcast_to(STANCE, (n, steps, STANCE.size)) if name == "quadrupeds" else None
    data = {threads: [mujoco.MjData(m) for _ in range(threads)] for threads in (1, 2)}

    def single() -> None:
        for live in alone:
            for _ in range(steps):
                live.step()

    def at_once() -> None:
        for live in alone:
            live.step(steps)

    def roll(threads: int) -> Callable[[], None]:
        with_threads = rollout.Rollout(nthread=threads)
        models = [m] * n
        return lambda: with_threads.rollout(models, data[threads], start, control, nstep=steps) and None

    times = least(
        {
            "one": lambda: batches[1].step(steps) and None, "two": lambda: batches[2].step(steps) and None,
            "by one": single, "at once": at_once,
            "rollout one": roll(1), "rollout two": roll(2), "bare one": bare(1), "bare two": bare(2),
        },
        repeats,
    )  # fmt: skip
    us = {
        key: 1e6 * value / steps / (len(alone) if key in ("by one", "at once") else n)
        for key, value in times.items()
    }
    same = all(
        np.array_equal(getattr(batches[1].state, part), getattr(batches[2].state, part)) for part in "qv"
    )
    print(
        f"{name}, {n} members, {steps} steps a call [us a step of a member]: batch {us['one']:.1f} on one"
        f" thread, {us['two']:.1f} on two; single {us['by one']:.1f} one by one, {us['at once']:.1f} at once;"
        f" MuJoCo's rollout {us['rollout one']:.1f} and {us['rollout two']:.1f}"
    )
    bare_ratio = times["bare one"] / times["bare two"]
    held = np.count_nonzero(batches[1].status)
    print(
        f"{'':{len(name)}}  two threads {us['one'] / us['two']:.2f} times one, a bare loop {bare_ratio:.2f};"
        f" batch on two over single steps"
        f" {us['two'] / us['by one']:.2f}, on one {us['one'] / us['by one']:.2f}; over rollout on two"
        f" {us['two'] / us['rollout two']:.2f}; same bits: {same}; held {held};"
        f" residual {batches[1].worst.max():.0e}",
        flush=True,
    )


def other(text: str, batch: ss.Batch, name: str) -> tuple[mujoco.MjModel, np.ndarray]:
    """MuJoCo's model, and its states where those of the batch are, shape (n, ...)."""
    m = mujoco.MjModel.from_xml_string(text)
    m.opt.cone, m.opt.solver = mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtSolver.mjSOL_NEWTON
    m.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    state, data = batch.state, mujoco.MjData(m)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    rows = np.zeros((len(state), mujoco.mj_stateSize(m, full)))
    for k in range(len(state)):
        skip = 0 if name == "quadrupeds" else 1  # the floor is a body of a world
        data.qpos[:], data.qvel[:] = state.q[k, 7 * skip :], state.v[k, 6 * skip :]
        mujoco.mj_getState(m, data, rows[k], full)
    return m, rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="quadrupeds,stacks")
    parser.add_argument("--members", type=int, default=256)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--settle", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=12)
    given = parser.parse_args()
    for name in given.models.split(","):
        if name not in ("quadrupeds", "stacks"):
            parser.error(f"no model {name!r}; known: quadrupeds, stacks")
        beside(name, given.members, given.steps, given.settle, given.repeats)


if __name__ == "__main__":
    main()
