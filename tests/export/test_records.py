"""Blocks of records: every chosen record once, in order, with states as the whole run has them."""

import numpy as np
import pytest

from stickslip.export import records
from stickslip.export.records import blocks, picked
from stickslip.export.records import records as some_records


@pytest.mark.parametrize("every", [1, 4, 100])
@pytest.mark.parametrize("size", [0.0, 3e4, 1e9])
def test_every_chosen_record_comes_once(world, monkeypatch, every, size):
    monkeypatch.setattr(records, "BLOCK", size)
    numbers, told = picked(world, 0.05, None, every), []
    found = list(blocks(world, numbers, report=lambda done, total: told.append((done, total))))
    np.testing.assert_array_equal(np.concatenate([block.numbers for block in found]), numbers)
    np.testing.assert_array_equal(np.concatenate([block.t for block in found]), world.t[numbers])
    counts = np.diff(world.contacts.offset)[numbers]
    np.testing.assert_array_equal(np.concatenate([block.counts for block in found]), counts)
    assert sum(block.contacts.size for block in found) == counts.sum()
    assert told[-1] == (numbers.size, numbers.size)


def test_states_of_a_part_are_those_of_the_whole_run(rough):
    """What is zero is measured by the largest impulse of the run: here all below a fifth of it."""
    offset = rough.contacts.offset
    first = int(np.argmax(np.diff(offset) > 0))
    alone = []
    for k in range(first, len(rough)):
        part, rows = some_records(rough, k, k + 1), slice(int(offset[k]), int(offset[k + 1]))
        assert part.contact_states.tolist() == rough.contact_states[rows].tolist()
        lightest = part.model.lightest(part.contacts.body)
        alone += part.contacts.states(lightest, rough.tolerance).tolist()
    assert alone != rough.contact_states.tolist()  # so that this test can fail


def test_times_at_the_ends_are_taken_up_to_rounding(world):
    assert world.t[picked(world, 0.1, 0.1 + 5e-3)].size == 2
    assert picked(world, np.nextafter(0.1, 1.0), np.nextafter(0.15, 0.0)).size == 11
