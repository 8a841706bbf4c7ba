"""What a model is shown: the size of `tools/list` through the gateway, as a client gets it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters

from hikidashi.tokens import estimate_tokens

from ..registry import Case, Measurement, Plan, Sample
from .stage import PEER_NAME, WAYS, Stage, Way, connected, stage

GROUP = "listing"
MEANING = "`tools/list` through the gateway ÷ all tools as the server lists them; and ÷ FastMCP's search tools"

_SIZES = (10, 40, 1_000, 10_000)


def _listed(portal: BlockingPortal, target: StdioServerParameters) -> str:
    async def text(client: Client) -> str:
        listed: Any = await client.list_tools()
        return listed.model_dump_json(by_alias=True, exclude_none=True, include={"tools"})

    with connected(portal, target) as client:
        return portal.call(text, client)


def _command(here: Stage, way: Way, tools: int) -> StdioServerParameters:
    return here.stdio(here.command(way, here.config(tools), tools, search=True))


def _listing(plan: Plan, tools: int) -> Iterable[Measurement]:
    size = min(tools, 60) if plan.quick else tools
    with stage() as here, start_blocking_portal() as portal:
        texts = {way: _listed(portal, _command(here, way, size)) for way in WAYS}
    peers: dict[Way, str] = {"direct": "all tools listed", "FastMCP": f"{PEER_NAME} with BM25"}
    for peer, name in peers.items():
        if peer not in texts:
            continue
        yield Measurement(
            group=GROUP,
            name=f"{size:,} tools",
            unit="tokens",
            ours=Sample((estimate_tokens(texts["ours"]),)),
            peer=Sample((estimate_tokens(texts[peer]),)),
            peer_name=name,
            note=f"{len(texts['ours'].encode()):,} bytes against {len(texts[peer].encode()):,}",
        )


CASES = tuple(Case(GROUP, f"{tools:,} tools", partial(_listing, tools=tools)) for tools in _SIZES)
