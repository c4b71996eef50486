"""Identify friction, restitution, inertia and centre of mass of a real cube from tosses; compare with MuJoCo.

Purpose: identify parameters from measurements, by gradients through every impact, and validate them: tosses
that were not fitted are predicted over their whole length from their frames before contact.

    python examples/identify_tosses.py cube_tosses.npz [others.npz]

fits 64 tosses of a file and predicts all others, or those of a second file; docs/tosses.md describes the
format and the figures. Without a file, a few tosses are simulated with known parameters.
"""

import sys

import numpy as np

from stickslip.studies import tosses

LITTLE = tosses.Plan(made=9, frames=40, short=(6, 12), iterations=(3, 2, 0), evaluations=12)


def main(data=None, others=None, plan=LITTLE, processes=1, progress=None):
    """Models before and after the fit, with their errors of prediction."""
    train = plan.train if data else 6
    to_fit, to_predict, _ = tosses.tosses_to_use(plan, data, train=train, seed=0, other=others)
    with tosses.workers(processes) as share:
        _, models = tosses.compare(share, plan, to_fit, to_predict, progress)
    return models


def check(models):
    """Fitted models predict better, ours has the known parameters, and nothing penetrates."""
    ours, ours_before, soft, soft_before = models
    for after, before in ((ours, ours_before), (soft, soft_before)):
        assert (after.means.mean(axis=0) < 0.5 * before.means.mean(axis=0)).all()
    assert (ours.means.mean(axis=0) < (8.0, 6.5)).all()  # % of the width, degrees
    miss = (ours.theta - tosses.KNOWN) / tosses.column(tosses.Cube.numbers, "scale")
    assert np.abs(miss[1:-2]).max() < 2.0  # sliding friction and tilt are not determined by so few frames
    assert ours.overlap.max() < 1e-3 < soft_before.overlap.max()


if __name__ == "__main__":
    files = sys.argv[1:]
    if files:
        models = main(
            *files, plan=tosses.Plan(), processes=2, progress=lambda *part: print(*part, flush=True)
        )
    else:
        models = main()
        check(models)
    table = tosses.results(models)
    for row in (table.headings, *table.text()):
        print("".join(f"{cell:>23}" for cell in row))
    for fit in (model for model in models if model.fitted):
        for number, value in zip(fit.model.numbers, fit.theta, strict=True):
            print(f"{fit.model.title}: {number.name} {number.shown(value):.4g} {number.unit}")
