"""What every test may use."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_interrupts() -> None:  # pyright: ignore[reportUnusedFunction]
    """A shell starts jobs in the background with SIGINT ignored, and every process they start inherits that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
