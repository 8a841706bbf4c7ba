"""The pydantic-ai run that a request belongs to."""

from __future__ import annotations

from typing import Any

from pydantic_ai.tools import RunContext

try:
    # `Model.request()` is given no `RunContext`, and pydantic-ai has no public way to ask for the current one;
    # its own models that wrap others read it here too.
    from pydantic_ai._run_context import get_current_run_context
except ImportError:  # pragma: no cover - tests with the pinned versions notice a release without it

    def get_current_run_context() -> RunContext[Any] | None:
        """Returns None: this version of pydantic-ai has no such function."""
        return None


def current_run() -> RunContext[Any] | None:
    """The context of the agent run in progress; `None` for a request that no agent made."""
    return get_current_run_context()
