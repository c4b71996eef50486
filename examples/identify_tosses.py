"""A real cube's friction, restitution, inertia and centre of mass from its tosses, beside MuJoCo.

Purpose: numbers of a model from measurements, by gradients through every impact, and what they are worth:
tosses that were not fitted on, predicted over their whole length from their frames before contact.

    python examples/identify_tosses.py cube_tosses.npz [others.npz]

fits on 64 tosses of a file and predicts all others, or those of a second file; docs/tosses.md has the format
and the figures. Without a file it makes a few tosses itself, whose numbers are known.
"""

import sys

import numpy as np

from stickslip.studies import tosses

LITTLE = tosses.Plan(made=9, frames=40, short=(6, 12), iterations=(3, 2, 0), evaluations=12)


def main(data=None, others=None, plan=LITTLE, processes=1, progress=None):
    """The models with what they were fitted to and how they predict."""
    train = plan.train if data else 6
    chosen, asked, _ = tosses.tosses_to_use(plan, data, train=train, seed=0, other=others)
    with tosses.workers(processes) as share:
        _, found = tosses.compare(share, plan, chosen, asked, progress)
    return found


def check(found):
    """Fitted models predict better, ours finds the numbers that the tosses were made with, nothing sinks."""
    ours, ours_before, soft, soft_before = found
    for after, before in ((ours, ours_before), (soft, soft_before)):
        assert (after.means.mean(axis=0) < 0.5 * before.means.mean(axis=0)).all()
    assert (ours.means.mean(axis=0) < (8.0, 6.5)).all()  # % of the width, degrees
    miss = (ours.theta - tosses.KNOWN) / tosses.column(tosses.Cube.numbers, "scale")
    assert np.abs(miss[1:-2]).max() < 2.0  # friction of sliding shows later than here, and so does the tilt
    assert ours.overlap.max() < 1e-3 < soft_before.overlap.max()


if __name__ == "__main__":
    files = sys.argv[1:]
    if files:
        found = main(*files, plan=tosses.Plan(), processes=2, progress=lambda *part: print(*part, flush=True))
    else:
        found = main()
        check(found)
    table = tosses.results(found)
    for row in (table.headings, *table.text()):
        print("".join(f"{cell:>23}" for cell in row))
    for one in (each for each in found if each.fitted):
        for number, value in zip(one.model.numbers, one.theta, strict=True):
            print(f"{one.model.title}: {number.name} {number.shown(value):.4g} {number.unit}")
