"""What every test may use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# No test times: on a busy machine an example takes as long as it takes.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


# By words, since loading the encoder takes half a second per process; `search/meaning` is about the default. Set here,
# since some modules of tests build a catalogue when they are imported.
os.environ.setdefault("HIKIDASHI_RANKER", "lexical")


@pytest.fixture(autouse=True)
def ranker_of_the_tests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """The default one for tests about it."""
    if Path(__file__).parent / "search" / "meaning" in request.path.parents:
        monkeypatch.delenv("HIKIDASHI_RANKER", raising=False)


@pytest.fixture(autouse=True, scope="session")
def signals_of_a_terminal() -> None:  # pyright: ignore[reportUnusedFunction]
    """Jobs in the background and under nohup ignore SIGINT and SIGHUP, and every process they start inherits that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
