"""States kept on the way back: few, and the steps made again are the fewest possible."""

from functools import cache

import pytest

import stickslip as ss
from stickslip.gradients.trajectory_schedule import (
    Backwards,
    checked_kept,
    default_kept,
    least_made,
    repetitions,
)


@cache
def fewest(steps, kept):
    """By trying every place for the next state."""
    if steps <= 1:
        return 0
    if kept == 1:
        return steps * (steps - 1) // 2
    return min(m + fewest(steps - m, kept - 1) + fewest(m, kept) for m in range(1, steps))


@pytest.mark.parametrize("kept", [1, 2, 3, 5, 8])
def test_every_step_once_from_its_own_state_with_the_fewest_made(kept):
    for steps in range(1, 36):
        alive = {0}

        def make(k, point, alive=alive):
            assert point == k
            alive.add(k + 1)
            return point + 1

        run = Backwards(0, steps, kept, make, lambda k, point: (k, point))
        assert [found for _, found in run] == [(k, k) for k in reversed(range(steps))]
        assert run.most <= kept
        assert run.made == fewest(steps, kept) == least_made(steps, kept)


def test_states_that_were_passed_are_let_go():
    held, most = set(), 0

    class Tracked:
        def __init__(self, at):
            self.at = at
            held.add(at)

        def __del__(self):
            held.discard(self.at)

    for _ in Backwards(Tracked(0), 400, 6, lambda k, p: Tracked(k + 1), lambda k, p: None):
        most = max(most, len(held))
    assert most <= 7  # and the one that is at hand


def test_the_default_makes_no_step_more_than_twice():
    for steps in (1, 2, 3, 10, 100, 5000):
        kept = default_kept(steps)
        assert repetitions(steps, kept) <= 2
        assert kept == 1 or repetitions(steps, kept - 1) > 2
        assert kept <= (2 * steps) ** 0.5 + 1


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "many"])
def test_a_number_of_states_that_cannot_be(bad):
    with pytest.raises(ss.ModelError, match="checkpoints is"):
        checked_kept(bad, 10)
