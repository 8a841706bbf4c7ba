"""User stories 3 and 4: tools with dependencies, and dependencies as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from typing import Any

import httpx
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext, Tool

from hikidashi import UnsupportedDepsTypeError, convert_tool_with_deps, deserialize_deps, serialize_deps


@dataclass
class Config:
    api_key: str
    since: date = date(2026, 1, 1)


class Settings(BaseModel):
    api_key: str
    since: date = date(2026, 1, 1)


@dataclass
class WithClient:
    http: httpx.AsyncClient


def ends_of_key(ctx: RunContext[Any], length: int) -> str:
    return f"{type(ctx).__name__} {ctx.deps.api_key[-length:]}"


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


async def test_us3_1_a_dataclass_is_handed_to_the_tool_in_a_deps_context() -> None:
    agent = Agent(deps_type=Config)
    agent.tool(ends_of_key)

    converted = convert_tool_with_deps(agent._function_toolset.tools["ends_of_key"], Config("sk-test"))

    assert await converted.handler({"length": 4}) == text("DepsContext test")


async def test_us3_2_a_pydantic_model_is_handed_to_the_tool_in_a_deps_context() -> None:
    converted = convert_tool_with_deps(Tool(ends_of_key), Settings(api_key="sk-test"))

    assert await converted.handler({"length": 4}) == text("DepsContext test")


CLIENT = httpx.AsyncClient()


@pytest.mark.parametrize("deps", [CLIENT, WithClient(CLIENT), {"clients": [CLIENT]}])
def test_us3_3_a_client_is_refused_wherever_it_hides(deps: Any) -> None:
    with pytest.raises(UnsupportedDepsTypeError) as refused:
        convert_tool_with_deps(Tool(ends_of_key), deps)

    assert refused.value.type_name == "httpx.AsyncClient"


def test_us4_1_a_dataclass_becomes_json() -> None:
    assert json.loads(serialize_deps(Config("sk-test"))) == {"api_key": "sk-test", "since": "2026-01-01"}


def test_us4_2_a_pydantic_model_becomes_its_own_json() -> None:
    settings = Settings(api_key="sk-test")

    assert serialize_deps(settings) == settings.model_dump_json()


def test_us4_3_json_becomes_the_dataclass_again() -> None:
    assert deserialize_deps('{"api_key": "sk-test", "since": "2026-02-03"}', Config) == Config(
        "sk-test", date(2026, 2, 3)
    )


@pytest.mark.parametrize("deps", [CLIENT, WithClient(CLIENT), [object()], print])
def test_us4_4_what_json_cannot_carry_is_refused(deps: Any) -> None:
    with pytest.raises(UnsupportedDepsTypeError):
        serialize_deps(deps)
