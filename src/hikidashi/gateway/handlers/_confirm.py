"""Confirmation of a call by the person, through the client's elicitation."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import mcp_types as types

from ..bridge.callers import Caller

__all__ = ["Confirmations"]

_LONGEST_VALUE = 400
_NO_FORMS = (
    "A person has to confirm it, and this client opens addresses only (elicitation by URL), not forms. "
    "Call it from a client that shows forms, or leave the tool out of `confirm`."
)
_MOST_REMEMBERED = 10_000


class Confirmations:
    """Asks for confirmation, and remembers which tools a client's user allowed for the whole conversation."""

    def __init__(self) -> None:
        self._remembered: OrderedDict[tuple[str, str], None] = OrderedDict()

    def is_remembered(self, client: str | None, tool: str) -> bool:
        """Whether the user of this client has allowed `tool` for the whole conversation."""
        return client is not None and (client, tool) in self._remembered

    async def ask(
        self, caller: Caller, client: str | None, tool: str, *, server: str, name: str, arguments: dict[str, Any] | None
    ) -> dict[str, Any] | None:
        """Ask for confirmation; None if it was given, else the result of the call.

        Args:
            caller: Whom to ask.
            client: The conversation; None where each request stands alone, so that nothing could be remembered.
            tool: The tool, by the name under which it is offered.
            server: Its server.
            name: Its name there.
            arguments: The arguments of the call.
        """
        remember = {
            "type": "boolean",
            "title": "Do not ask again for this tool in this conversation",
            "default": False,
        }
        params = types.ElicitRequestFormParams(
            message=_question(server, name, arguments),
            requested_schema={"type": "object", "properties": {} if client is None else {"remember": remember}},
        )
        answer = await caller.ask(types.ElicitRequest(params=params))
        if isinstance(answer, types.ElicitResult) and answer.action == "accept":
            if client is not None and (answer.content or {}).get("remember") is True:
                self._remembered[client, tool] = None
                while len(self._remembered) > _MOST_REMEMBERED:
                    self._remembered.popitem(last=False)
            return None
        reason = "The person did not agree to this call."
        if isinstance(answer, types.ErrorData):
            is_unable = answer.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
            reason = _NO_FORMS if is_unable else answer.message
        return {
            "resultType": "complete",
            "content": [{"type": "text", "text": f"{tool!r} was not called. {reason}"}],
            "isError": True,
        }


def _question(server: str, name: str, arguments: dict[str, Any] | None) -> str:
    lines = [f"Allow the server {server!r} to run {name!r}?"]
    for key, value in (arguments or {}).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown = text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters)"
        lines.append(f"  {key}: {shown}")
    return "\n".join(lines)
