"""What is imported when, and what is said when it is not there."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from hikidashi import MissingExtra

FRAMEWORKS = ("anthropic", "claude_agent_sdk", "mcp", "pydantic_ai", "strands")


@pytest.mark.parametrize(
    ("module", "missing", "command"),
    [
        ("claude", "claude_agent_sdk", "pip install 'hikidashi[claude]'"),
        ("pydantic_ai", "pydantic_ai", "pip install 'hikidashi[pydantic-ai]'"),
        ("strands", "strands.types.events", "pip install 'hikidashi[strands]'"),
    ],
)
def test_a_missing_framework_is_told_with_the_command_to_run(
    monkeypatch: pytest.MonkeyPatch, module: str, missing: str, command: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, f"hikidashi.convert.{module}", raising=False)
    with pytest.raises(MissingExtra) as caught:
        importlib.import_module(f"hikidashi.convert.{module}")
    assert command in str(caught.value)


@pytest.mark.parametrize("module", ["hikidashi.convert", "hikidashi.convert.functions", "hikidashi.convert.anthropic"])
def test_what_needs_no_framework_imports_none(module: str) -> None:
    script = f"import sys, {module}; print([name for name in {FRAMEWORKS} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
