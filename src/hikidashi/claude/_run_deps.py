"""The dependencies of the tools of one request: those of the run, or those registered before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_ai.tools import RunContext

from ..errors import MissingDepsError
from .deps_support import check_deps
from .tools.context import takes_context, wanted_deps


def deps_of_request(tools: Iterable[Any], run: RunContext[Any] | None, registered: object) -> object:
    """The `ctx.deps` of `tools`: `agent.run(deps=...)` wins over `set_agent_toolsets(deps=...)`.

    Raises:
        UnsupportedDepsTypeError: a tool takes a context, and the deps of the run cannot be serialised.
        MissingDepsError: a tool needs deps, and there are none.
    """
    with_context = [tool for tool in tools if takes_context(tool)]
    if not with_context:
        return None
    deps = registered if run is None or run.deps is None else run.deps
    if deps is None:
        for tool in with_context:
            if (wanted := wanted_deps(tool)) is not None:
                raise MissingDepsError(tool.name, wanted)
    check_deps(deps)
    return deps
