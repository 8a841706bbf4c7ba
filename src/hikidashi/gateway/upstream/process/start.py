"""Whether a process works on its start, by what Linux reports: one that hangs or spins does not."""

from __future__ import annotations

from .group import Work

__all__ = ["Starts"]

_QUIET = 0.2  # seconds without new memory; programs that are loaded touch some every 0.04 s of processor time
_NEW_MEMORY = 32  # pages: Python touches 14,000 in a start of 0.7 s, a process that waits or spins none
_LEAST_WORK = 1.5  # seconds of processor time that a start may take; twice what servers with Python do
_MORE_WORK = 2.0  # times what the slowest listed server has taken


class Starts:
    """The starts of the servers' processes."""

    def __init__(self) -> None:
        self._progress: dict[str, tuple[Work, float]] = {}
        """What each had done when it last touched new memory, and until when it has worked or waited to."""
        self._most_work = _LEAST_WORK

    def look(self, server: str, work: Work, now: float) -> None:
        """Note what the processes of `server` have done so far."""
        before, _ = self._progress.get(server, (None, now))
        if before is None or abs(work.faults - before.faults) >= _NEW_MEMORY:
            self._progress[server] = work, now
        elif work.is_waiting:  # on a busy machine, a process may wait for seconds
            self._progress[server] = before, now

    def has_listed(self, work: Work) -> None:
        """Note what the processes of a server had done when it was listed: others may take somewhat more."""
        self._most_work = max(self._most_work, work.seconds * _MORE_WORK)

    def is_working(self, server: str, work: Work, now: float, until: float) -> bool:
        """Whether the start of `server` makes progress, after a `look` at it.

        Args:
            server: Its name.
            work: What its processes have done so far.
            now: The time.
            until: When it should have started; what it had to wait for a processor is added.
        """
        before, since = self._progress[server]
        is_spinning = work.seconds - before.seconds >= _QUIET
        is_quiet = now - since >= _QUIET
        return now < until + work.waited and work.seconds < self._most_work and not is_spinning and not is_quiet
