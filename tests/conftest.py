"""What every test may use."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# No test times: on a busy machine an example takes as long as it takes.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


# By words, in this process and in those that tests start: loading the encoder takes half a second in each.
os.environ.setdefault("HIKIDASHI_RANKER", "lexical")

_BY_DEFAULT = ("search", "spec003")


@pytest.fixture(autouse=True, scope="module")
def ranker_of_the_tests(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Tests of the search have the ranker that users have by default, and vectors of their own.

    A catalogue of more than 64 tools is first searched by words and then by meaning, whenever its thread is done: a
    test gives it `ranker="lexical"`, or waits for `ready()`.
    """
    if request.path.relative_to(Path(__file__).parent).parts[0] not in _BY_DEFAULT:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HIKIDASHI_RANKER")
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(autouse=True, scope="session")
def signals_of_a_terminal() -> None:  # pyright: ignore[reportUnusedFunction]
    """Jobs in the background and under nohup ignore SIGINT and SIGHUP, and every process they start inherits that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
