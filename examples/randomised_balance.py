"""A policy learns to balance a pole on carts whose masses it does not know, and keeps its balance on others.

Purpose: learning on a batch. Every member has masses of its own, and the controls of all are set at once.
Gains are drawn, tried on many carts side by side, and the best ones say where to draw next (the cross-entropy
method of Rubinstein and Kroese, 2004). The rail has dry friction and hard ends, as any contact here.
"""

import numpy as np

import stickslip as ss

MJCF = """<mujoco><option timestep=".02"/><worldbody><body name="cart">
  <joint name="rail" type="slide" axis="1 0 0" frictionloss=".5" range="-2 2"/>
  <geom type="box" size=".2 .1 .05" mass="1"/>
  <body name="pole"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size=".02" mass=".2"
    contype="0" conaffinity="0"/></body></body></worldbody>
  <actuator><motor joint="rail"/></actuator></mujoco>"""
TRIED, CARTS, STEPS, ROUNDS, BEST = 16, 8, 120, 8, 5
LEAN, FALLEN, PRICE = 0.15, 0.5, 3e-3  # rad, rad, of forces [1/N²]


def carts(n, rng, spread):
    """Masses of carts and poles about those of the file, shape (n, bodies)."""
    return np.array([0.0, 1.0, 0.2]) * spread ** rng.uniform(-1.0, 1.0, (n, 3))


def tried(robot, gains, mass, rng):
    """Cost of gains (k, 4) on carts (m, bodies), and whether the poles stand at the end, shape (k, m)."""
    k, m = len(gains), len(mass)
    batch = ss.Batch(robot, k * m, threads=2, parameters={"mass": np.tile(mass, (k, 1))})
    batch.reset(q=np.tile(np.stack([np.zeros(m), rng.uniform(-LEAN, LEAN, m)], 1), (k, 1)))
    own, cost, state = np.repeat(gains, m, axis=0), np.zeros(k * m), batch.state
    for _ in range(STEPS):
        force = np.clip((own * np.hstack([state.q, state.v])).sum(1), -30.0, 30.0)
        batch.controls = force[:, None]
        state = batch.step()
        cost += np.minimum(state.q[:, 1] ** 2 + 0.05 * state.q[:, 0] ** 2, FALLEN**2) + PRICE * force**2
    stands = (abs(state.q[:, 1]) < 0.5 * LEAN) & (batch.status == 0)
    return cost.reshape(k, m), stands.reshape(k, m)


def trained(robot, spread, rng):
    """Gains of position, lean and their rates, found on carts with so much spread of their masses."""
    middle, width = np.array([2.0, 40.0, 4.0, 8.0]), np.array([3.0, 25.0, 4.0, 6.0])
    for _ in range(ROUNDS):
        gains = middle + width * rng.standard_normal((TRIED, 4))
        cost, _ = tried(robot, gains, carts(CARTS, rng, spread), rng)
        best = gains[np.argsort(cost.mean(axis=1))[:BEST]]
        middle, width = best.mean(axis=0), 1.2 * best.std(axis=0)
    return middle


def main():
    """Shares of unknown carts that each policy balances: trained on random carts, and on one cart."""
    robot, shares = ss.Robot.load(MJCF), []
    for spread in (5.0, 1.0):
        gains = trained(robot, spread, np.random.default_rng(1))
        rng = np.random.default_rng(2)
        _, stands = tried(robot, gains[None], carts(64, rng, 5.0), rng)
        shares.append(float(stands.mean()))
    return tuple(shares)


def check(randomised, nominal):
    """Who has seen random carts balances nearly all others; who has seen one cart spares too much force."""
    assert randomised >= 0.95
    assert nominal <= 0.9


if __name__ == "__main__":
    found = main()
    check(*found)
    print(f"balanced: {found[0]:.0%} of unknown carts after random ones, {found[1]:.0%} after one")
