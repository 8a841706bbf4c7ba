"""What every test may use."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

# No test times: on a busy machine an example takes as long as it takes.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def signals_of_a_terminal() -> None:  # pyright: ignore[reportUnusedFunction]
    """Jobs in the background and under nohup ignore SIGINT and SIGHUP, and every process they start inherits that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
