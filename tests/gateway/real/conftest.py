"""One gateway in front of all servers, and one visit of each kind of client, shared by the tests."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from tests.gateway.real.counterparts import Place, everything_behind_one_gateway


@pytest.fixture(scope="session")
def place() -> Generator[Place]:
    with everything_behind_one_gateway() as made:
        yield made
