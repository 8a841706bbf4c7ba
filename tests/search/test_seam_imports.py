"""Each seam needs its framework, and says so."""

from __future__ import annotations

import importlib
import sys

import pytest

from hikidashi import MissingExtra


@pytest.mark.parametrize(
    ("module", "missing", "command"),
    [
        ("claude", "claude_agent_sdk", "pip install 'hikidashi[claude]'"),
        ("pydantic_ai", "pydantic_ai", "pip install 'hikidashi[pydantic-ai]'"),
        ("pydantic_ai_engine", "pydantic_ai.messages", "pip install 'hikidashi[pydantic-ai]'"),
        ("strands", "strands.hooks", "pip install 'hikidashi[strands]'"),
    ],
)
def test_a_seam_without_its_framework_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, missing: str, command: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, f"hikidashi.search.{module}", raising=False)
    with pytest.raises(MissingExtra) as caught:
        importlib.import_module(f"hikidashi.search.{module}")
    assert command in str(caught.value)
