"""A policy with 31 parameters learns to push a puck to targets, by gradients through contact.

Purpose: chain derivatives of a robot's steps by hand. A finger can only push the puck, which slides on the
floor with friction. The policy observes target, puck and finger, and sets the force of the motor. The adjoint
is propagated backwards through the steps, by `vjp`, and through the policy; Gauss-Newton takes the smallest
change of the policy that hits to first order. With a folder as argument, the figure is written to it.
"""

import sys

import numpy as np

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

MJCF = """<mujoco><option timestep=".025"/><default><geom friction=".3 .005 .0001"/></default><worldbody>
  <geom type="plane" size="9 9 .1"/><body pos="-.2 0 .1"><joint name="finger" type="slide" axis="1 0 0"
    damping="2"/><geom size=".05" mass=".5" condim="1" priority="1"/></body>
  <body pos="0 0 .1"><joint name="puck" type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
    <geom size=".1" mass="1"/></body></worldbody><actuator><motor joint="finger"/></actuator></mujoco>"""
FORCE, STEPS, ROUNDS, FAR = 12.0, 40, 8, 0.5  # N, -, -, largest change of the policy per iteration
TARGETS, OTHER = (0.25, 0.45, 0.65), 0.55  # m; the policy is not trained on the other target
SEE = np.array([[0.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])  # observations: puck to target, finger to puck


def pushed(prepared, p, target):
    """Final error of the puck [m], its gradient by the policy, and the path of the puck, shape (steps,)."""
    W, b, w, c = p[:20].reshape(5, 4), p[20:25], p[25:30], p[30]
    robot, state, memory, tape = prepared.robot, prepared.robot.start, None, []
    for _ in range(STEPS):
        seen = np.append(SEE @ state.q + [target, 0.05], 0.2 * state.v[:2])
        hidden = np.tanh(W @ seen + b)
        out = np.tanh(w @ hidden + c)
        d = ss.differentiate(prepared, robot.state(state.q, state.v, ctrl=[FORCE * out]), memory=memory)
        state, memory = d.step.state, d.step.memory
        tape.append((d, seen, hidden, out))
    gradient, on_q, on_v = np.zeros(p.size), np.array([0.0, 1.0, 0.0]), np.zeros(3)
    for d, seen, hidden, out in reversed(tape):
        adjoint = d.vjp(q=on_q, v=on_v, by=("q", "v", "ctrl"))
        on_out = adjoint["ctrl"][0] * FORCE * (1.0 - out**2)
        on_seen = W.T @ (on_hidden := on_out * w * (1.0 - hidden**2))
        gradient += np.concatenate([np.outer(on_hidden, seen).ravel(), on_hidden, on_out * hidden, [on_out]])
        on_q, on_v = adjoint["q"] + SEE.T @ on_seen[:2], adjoint["v"] + 0.2 * np.append(on_seen[2:], 0.0)
    return state.q[1] - target, gradient, np.array([d.step.state.q[1] for d, *_ in tape])


def main():
    """Errors of all iterations [m], shape (rounds, targets), paths of the puck in them, and the policy."""
    prepared, rng = ss.schemes.PreparedRobot(ss.Robot.load(MJCF)), np.random.default_rng(0)
    p = np.concatenate([rng.normal(size=20), np.zeros(5), 0.1 * rng.normal(size=5), [0.3]])
    records = []
    for _ in range(ROUNDS):
        error, J, path = map(np.array, zip(*(pushed(prepared, p, x) for x in TARGETS), strict=True))
        records.append((error, path))
        change = -np.linalg.lstsq(J, error, rcond=1e-3)[0]
        p = p + change * min(1.0, FAR / np.linalg.norm(change))
    return *(np.array(part) for part in zip(*records, strict=True)), p


def check(errors, paths, p):
    """It hits, also nearly the other target; the puck is only pushed; gradients equal finite differences."""
    assert np.abs(errors[-1]).max() < 0.01 < 0.1 * np.abs(errors[0]).max()
    assert (np.diff(paths) > -1e-9).all()
    prepared, change = ss.schemes.PreparedRobot(ss.Robot.load(MJCF)), np.random.default_rng(1).normal(size=31)
    error, gradient, _ = pushed(prepared, p, OTHER)
    up, down = (pushed(prepared, p + sign * change, OTHER)[0] for sign in (1e-6, -1e-6))
    assert abs(error) < 0.05
    assert abs((up - down) / 2e-6 / (gradient @ change) - 1.0) < 1e-5


if __name__ == "__main__":
    errors, paths, policy = main()
    check(errors, paths, policy)
    print(f"errors of {1e3 * errors[0]} mm at first, {1e3 * errors[-1]} mm after {ROUNDS} iterations")
    if len(sys.argv) > 1:
        t, k, aims = 0.025 * np.arange(1, STEPS + 1), np.arange(1.0, ROUNDS + 1), list(enumerate(TARGETS))
        shown = [Curve(f"round {j + 1}, to {x} m", t, paths[j, i]) for j in (0, ROUNDS - 1) for i, x in aims]
        falls = [Curve(f"to {x} m", k, 1e3 * np.abs(errors[:, i])) for i, x in aims]
        panels = [Panel("Puck", "t [s]", "x [m]", shown), Panel("Error", "round", "[mm]", falls, log_y=True)]
        draw(Figure("A policy learns to push", panels), f"{sys.argv[1]}/train_policy.png")
