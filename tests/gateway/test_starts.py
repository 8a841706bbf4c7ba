"""Whether a process works on its start, by what it has done so far."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from hikidashi.gateway.upstream.processes import Starts, Work, work_of_groups

STARTED = Work(seconds=0.1, faults=1_000)


def is_working(later: Work, *, now: float = 0.1, listed: Work | None = None) -> bool:
    """Whether a process that was first seen at 0 is judged to work on its start at `now`, until 2."""
    starts = Starts()
    starts.look("server", STARTED, 0.0)
    if listed is not None:
        starts.has_listed(listed)
    starts.look("server", later, now)
    return starts.is_working("server", later, now, 2.0)


@pytest.mark.parametrize(
    ("later", "now", "expected"),
    [
        pytest.param(Work(seconds=0.1, faults=1_000), 0.1, True, id="seen a moment ago"),
        pytest.param(Work(seconds=0.1, faults=1_000), 0.3, False, id="sleeps"),
        pytest.param(Work(seconds=0.2, faults=1_500), 0.3, True, id="loads"),
        pytest.param(Work(seconds=0.2, faults=900), 0.3, True, id="loads, and a child has ended"),
        pytest.param(Work(seconds=0.1, faults=1_004), 0.3, False, id="wakes up and sleeps"),
        pytest.param(Work(seconds=0.4, faults=1_000, is_waiting=True), 0.3, False, id="spins"),
        pytest.param(Work(seconds=0.1, faults=1_000, waited=0.9, is_waiting=True), 1.0, True, id="waits to run"),
        pytest.param(Work(seconds=1.6, faults=90_000, is_waiting=True), 1.7, False, id="works for too long"),
        pytest.param(Work(seconds=1.4, faults=90_000), 2.1, False, id="is too late"),
        pytest.param(Work(seconds=1.4, faults=90_000, waited=0.5), 2.1, True, id="is late on a busy machine"),
    ],
)
def test_a_process_works_on_its_start_while_it_loads_or_waits_to_run(later: Work, now: float, expected: bool) -> None:
    assert is_working(later, now=now) is expected


def test_a_start_may_take_twice_the_work_of_the_slowest_listed_one() -> None:
    later = Work(seconds=3.0, faults=90_000)
    assert [is_working(later, listed=Work(seconds=took)) for took in (0.1, 1.4, 1.6)] == [False, False, True]


def test_a_real_process_is_seen_with_its_children() -> None:
    faults = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt, flush=True)\n"
    child = f"{faults}import time; time.sleep(60)"
    parent = f"{faults}import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(2)]
        work, unknown = work_of_groups([process.pid]), work_of_groups([process.pid + 1_000_000])
        os.killpg(process.pid, signal.SIGKILL)

    assert work is not None
    assert work[process.pid].faults >= sum(told) > 0
    assert unknown == {}
