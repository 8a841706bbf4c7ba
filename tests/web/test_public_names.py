"""The doors of the web tools and of the agents: complete, and light."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import hikidashi.agents
import hikidashi.web

DOORS = [hikidashi.web, hikidashi.agents]


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_is_there(door: ModuleType) -> None:
    assert dir(door) == sorted(door.__all__)
    for name in door.__all__:
        assert not isinstance(getattr(door, name), ModuleType), f"{name} is also the name of a module"


@pytest.mark.parametrize("door", DOORS)
def test_an_unknown_name_is_an_attribute_error(door: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{door.__name__}' has no attribute 'nothing'"):
        _ = door.nothing


def test_opening_a_door_imports_no_framework() -> None:
    script = (
        "import sys, hikidashi.web, hikidashi.agents;"
        "from hikidashi.web import SearchResults, format_search, web_tools;"
        "known = {'anthropic', 'claude_agent_sdk', 'httpx', 'mcp', 'pydantic_ai', 'slack_bolt', 'strands', 'tavily'};"
        "print(sorted(known & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)

    assert done.stdout == "[]\n"
