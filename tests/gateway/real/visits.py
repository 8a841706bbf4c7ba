"""What a client gets when it lists, calls, reads and is asked: the same steps for clients of every version."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import anyio
from mcp import MCPError, types
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from tests.gateway.real.counterparts import HIKIDASHI, OLD_PYTHON, Place
from tests.gateway.real.old import OLD_CLIENT

Kind: TypeAlias = Literal["2026-07-28 http", "2026-07-28 stdio", "2025-11-25 http", "mcp 1 http", "mcp 1 stdio"]
KINDS: list[Kind] = ["2026-07-28 http", "2026-07-28 stdio", "2025-11-25 http", "mcp 1 http", "mcp 1 stdio"]
Steps: TypeAlias = dict[str, tuple[Any, ...]]

ELICIT = {"action": "accept", "content": {"name": "Bo", "colour": "blue", "check": True}}
SAMPLE = {"role": "assistant", "content": {"type": "text", "text": "A thought."}, "model": "test"}
ROOTS = [{"uri": "file:///drawer", "name": "drawer"}]


@dataclass(frozen=True)
class Visit:
    """What one client got."""

    results: dict[str, Any]
    """The answer to each step as JSON, or `{"error": …}`."""
    asked: list[Any] = field(default_factory=list[Any])
    """What the client was asked meanwhile."""
    progress: list[Any] = field(default_factory=list[Any])
    logged: list[Any] = field(default_factory=list[Any])
    revision: str = ""

    def text(self, step: str) -> str:
        """The text blocks of a tool's answer."""
        return "\n".join(one["text"] for one in self.results[step]["content"] if one["type"] == "text")


def visit(kind: Kind, place: Place, steps: Steps, *options: str) -> Visit:
    """Take all steps with one client; `options` are of `hikidashi serve`, where the client starts it."""
    arguments = ["serve", "--config", str(place.config), "--yes", *(options or ("--search", "off"))]
    stdio: dict[str, Any] = {"command": HIKIDASHI, "args": arguments, "env": place.environment}
    if not kind.startswith("mcp 1"):
        target = place.url if kind.endswith("http") else StdioServerParameters(**stdio)
        return anyio.run(_visit, target, "auto" if kind.startswith("2026") else "legacy", steps)
    where = {"url": place.url} if kind.endswith("http") else {"stdio": stdio}
    given = {**where, "steps": steps, "elicit": ELICIT, "sample": SAMPLE, "roots": ROOTS}
    command = [str(OLD_PYTHON), "-c", OLD_CLIENT]
    ran = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return Visit(**json.loads(ran.stdout))


async def _visit(target: str | StdioServerParameters, mode: Literal["auto", "legacy"], steps: Steps) -> Visit:
    got = Visit({})

    async def elicit(_: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        got.asked.append(plain(params))
        return types.ElicitResult.model_validate(ELICIT)

    async def sample(_: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        got.asked.append(plain(params))
        return types.CreateMessageResult.model_validate(SAMPLE)

    async def roots(_: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": ROOTS})

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        got.logged.append(plain(params))

    async def report(progress: float, total: float | None, message: str | None) -> None:
        got.progress.append([progress, total, message])

    async def one(client: Client, method: str, arguments: list[Any]) -> Any:
        if method == "call_tool":
            return await client.call_tool(*arguments, progress_callback=report)
        if method == "complete":
            reference, argument = arguments
            is_prompt = reference["type"] == "ref/prompt"
            kind = types.PromptReference if is_prompt else types.ResourceTemplateReference
            return await client.complete(kind(**reference), argument)
        return await getattr(client, method)(*arguments)

    callbacks: dict[str, Any] = {
        "elicitation_callback": elicit,
        "sampling_callback": sample,
        "list_roots_callback": roots,
        "logging_callback": log,
        "log_level": "info" if mode == "auto" else None,
    }
    async with Client(target, mode=mode, **callbacks) as client:
        with anyio.fail_after(60):
            for name, (method, *arguments) in steps.items():
                try:
                    got.results[name] = plain(await one(client, method, arguments))
                except MCPError as error:
                    got.results[name] = {"error": plain(error.error)}
        return Visit(got.results, got.asked, got.progress, got.logged, client.protocol_version)


def plain(model: Any) -> Any:
    """A message as JSON values."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
