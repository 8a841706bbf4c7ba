"""Functions that may wait for a person, such as those of a keyring that is locked."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any, Generic, TypeVar, cast

import anyio

__all__ = ["WaitingCall"]

_T = TypeVar("_T")
_POLL = 0.02  # seconds


class WaitingCall(Generic[_T]):
    """Calls a function without blocking the event loop; waiting for it can be cancelled.

    In a thread of its own kind: one of the event loop would keep the process from ending as long as it waits. A call
    that still waits is joined, so that attempts do not pile up.
    """

    def __init__(self, function: Callable[[], _T]) -> None:
        self._function = function
        self._thread: Thread | None = None
        self._result: Any = None
        self._error: Exception | None = None

    @property
    def waits(self) -> bool:
        """Whether the function has not returned yet."""
        return self._thread is not None and self._thread.is_alive()

    async def __call__(self) -> _T:
        """What the function returns; raises what it raises."""
        if not self.waits:
            self._thread = Thread(target=self._run, daemon=True)
            self._thread.start()
        while self.waits:  # noqa: ASYNC110 - it is a thread's end that is waited for
            await anyio.sleep(_POLL)
        if self._error is not None:
            raise self._error
        return cast("_T", self._result)

    def _run(self) -> None:
        self._result = self._error = None
        try:
            self._result = self._function()
        except Exception as error:
            self._error = error
