"""The end of a server's standard error."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search.mcp_servers._diagnostics import Diagnostics
from hikidashi.search.mcp_servers.entries.config import McpServer

SERVER = McpServer(name="a", transport="stdio", command="x", env={"API_KEY": "sk-test-secret"})


def test_the_last_lines_are_told_in_one_line() -> None:
    diagnostics = Diagnostics(SERVER)
    diagnostics.feed(b"one\ntwo\n\n  three\nError: bad key sk-test-secret\n\nNode.js v22\n")
    assert diagnostics.explain("it ended") == "it ended; stderr ended with: three | Error: bad key *** | Node.js v22"


def test_a_flood_is_bounded_in_memory() -> None:
    diagnostics = Diagnostics(SERVER)
    chunk = b"x" * 99 + b"\n"
    tracemalloc.start()
    for _ in range(2_000):
        diagnostics.feed(chunk * 50)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000
    assert len(diagnostics.explain("it ended")) < 2_000


@given(st.lists(st.integers(0, 300), max_size=80), st.integers(1, 60))
def test_no_part_of_a_secret_is_shown_however_it_is_cut(widths: list[int], size: int) -> None:
    text = "\n".join("x" * width + "sk-test-secret" * 3 for width in widths).encode()
    diagnostics = Diagnostics(SERVER)
    for start in range(0, len(text), size * 50):
        diagnostics.feed(text[start : start + size * 50])
    assert "secret" not in diagnostics.explain("it ended")
