"""Teams of threads, and functions that run on one thread of BLAS and leave it as it was."""

import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event, active_count, get_ident

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (its library of BLAS is one of those that are limited)
from threadpoolctl import threadpool_info, threadpool_limits

import stickslip
from stickslip.threads import Team, allowed_threads, ranges, single_threaded


def threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@single_threaded
def inside(a, *, b):
    """What it is given, and the threads there."""
    return a @ b, threads()


def test_one_thread_inside_and_as_many_as_before_after():
    for count in (2, 1):
        with threadpool_limits(count, user_api="blas"):
            before = threads()
            product, within = inside(np.eye(3), b=np.ones((3, 2)))
            assert set(within) == {1}
            assert threads() == before
        np.testing.assert_array_equal(product, 1.0)
    assert inside.__doc__ == "What it is given, and the threads there."


def test_the_limit_holds_until_the_last_thread_that_needs_it_is_done():
    entered, leave = Event(), Event()

    @single_threaded
    def long():
        entered.set()
        leave.wait(60.0)
        return threads()

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with ThreadPoolExecutor(1) as pool:
            late = pool.submit(long)
            assert entered.wait(60.0)
            inside(np.eye(2), b=np.eye(2))
            still = threads()
            leave.set()
            assert set(still) == {1}
            assert set(late.result()) == {1}
        assert threads() == before


@pytest.mark.parametrize("size", [1, 2, 3])
def test_results_in_the_order_of_the_tasks(size):
    with Team(size) as team:
        for many in (0, 1, 2, 40):
            assert team.run([partial(pow, k, 2) for k in range(many)]) == [k * k for k in range(many)]


def test_all_threads_take_part():
    """Two tasks that wait for each other need two threads."""
    meet = Barrier(2, timeout=60.0)
    with Team(2) as team:
        places = team.run([meet.wait, meet.wait])
    assert sorted(places) == [0, 1]


@pytest.mark.parametrize("size", [1, 2])
def test_the_exception_of_the_first_task_that_fails(size):
    done = []

    def fail(k):
        done.append(k)
        raise ValueError(f"task {k}")

    with Team(size) as team:
        with pytest.raises(ValueError, match="task 0"):
            team.run([partial(fail, k) for k in range(100)])
        assert len(done) <= size
        assert team.run([lambda: 1, lambda: 2]) == [1, 2]  # the team goes on


def test_an_interrupt_waits_for_what_has_begun_and_begins_no_more():
    main, begun, ended = get_ident(), [], []

    def task():
        begun.append(get_ident())
        if get_ident() == main:
            signal.raise_signal(signal.SIGINT)
        while not team.is_stopping:
            pass
        ended.append(get_ident())

    with Team(2) as team:
        with pytest.raises(KeyboardInterrupt):
            team.run([task] * 50)
        assert len(begun) <= 2
        assert len(ended) >= len(begun) - 1
        assert team.run([lambda: 1, lambda: 2]) == [1, 2]


def test_the_number_of_threads_holds_within_its_block_and_is_one_within_tasks():
    assert allowed_threads() == 1
    with stickslip.use_threads(3):
        with Team() as team:
            assert team.size == 3
            assert team.run([allowed_threads] * 4) == [1] * 4
        assert allowed_threads() == 3
        with ThreadPoolExecutor(1) as pool:  # another thread has its own number
            assert pool.submit(allowed_threads).result() == 1
    assert allowed_threads() == 1


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2", 10_000])
def test_a_number_that_is_none(number):
    with pytest.raises(ValueError, match=r"threads is .*; expected a whole number from 1 to 1024"):
        stickslip.use_threads(number).__enter__()


def test_threads_stay_for_the_next_team():
    """So many as the largest team needs; they are not made anew, and a team of one needs none."""
    with Team(3) as team:
        team.run([lambda: None] * 3)
        known = active_count()
    for size in (1, 2, 3):
        with Team(size) as team:
            team.run([lambda: None] * 3)
            assert active_count() == known


def test_ranges_cover_all_and_none_is_empty():
    for size, parts in ((10, 3), (3, 10), (1, 1), (1000, 7)):
        found = ranges(size, parts)
        assert [k for first, end in found for k in range(first, end)] == list(range(size))
        assert all(first < end for first, end in found)
        assert len(found) == min(size, parts)
