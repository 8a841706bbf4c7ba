"""One call of a tool: found by its name, confirmed where the policy asks for it, forwarded, its result bounded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import mcp_types as types
from mcp import MCPError

from ...errors import ServerUnavailableError, ToolSearchError
from ..bridge.callers import Caller, conversation_of, principal_of
from ..bridge.meta import passed_on
from ..bridge.parked import Raw
from ..finder import CALL_READ_TOOL, OWN_TOOLS
from ..gateway import Gateway
from ..telemetry import call_span, describe_call
from ._arguments import argument_problems
from ._binary_results import without_large_files
from ._confirm import Confirmations
from ._records import ClientRecords
from ._results import LongResults
from ._support import Context, raw_meta

__all__ = ["ToolCalls", "error_result"]


def error_result(text: str) -> types.CallToolResult:
    """A result that reports an error to the model."""
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


class ToolCalls:
    """Forwards calls of tools to their servers.

    Args:
        gateway: The gateway whose tools are called.
        long_results: Keeps the rest of results that were cut.
        records: Records calls.
    """

    def __init__(self, gateway: Gateway, long_results: LongResults, records: ClientRecords) -> None:
        self._gateway = gateway
        self._records = records
        self._long_results = long_results
        self._confirmations = Confirmations()

    async def call(
        self,
        ctx: Context,
        params: types.CallToolRequestParams,
        name: str,
        arguments: dict[str, Any] | None,
        *,
        through: str | None = None,
    ) -> Raw | types.Result:
        """The result of the tool `name`.

        Args:
            ctx: The client's request.
            params: Its parameters: the answers and the state of an earlier round.
            name: The tool, by the name under which it is offered.
            arguments: Its arguments.
            through: The tool of ours that calls it, which must be the right one; the tool's definition is added to an
                error then, for a model that may not have seen it.
        """
        gateway = self._gateway
        if through is not None and name in OWN_TOOLS:
            return error_result(f"{name!r} is not called through {through}: call {name} itself, with its arguments.")
        if name not in gateway.merged.tool_places:
            await gateway.until_known(name, lambda: name in gateway.merged.tool_places)
        place = gateway.merged.tool_places.get(name)
        if place is None:
            with suppress(ToolSearchError):
                await gateway.finder.prepare(name)
            return error_result(gateway.nearest(name))
        # Here, where its definition is known: the name may be older than the list.
        if through is not None and through != (right := gateway.finder.call_with(name)):
            kind = "only reads" if right == CALL_READ_TOOL else "may change something"
            return error_result(f"{name!r} {kind}: call it with {right}.")
        if _is_first_round(params):
            listed = through is None and gateway.always_lists(name)
            self._records.called(ctx, name, found_by="listed" if listed else None)
        with describe_call(place.server) if through is None else call_span(name, place.server):
            return await self._forward(ctx, params, name, arguments, explain=through is not None)

    async def _forward(
        self,
        ctx: Context,
        params: types.CallToolRequestParams,
        name: str,
        arguments: dict[str, Any] | None,
        *,
        explain: bool,
    ) -> Raw | types.Result:
        gateway = self._gateway
        place, tool = gateway.merged.tool_places[name], gateway.merged.tools[name]
        upstream = gateway.upstream_of(place.server)
        meta = passed_on(raw_meta(ctx))

        def make(responses: types.InputResponses | None, state: str | None) -> types.ClientRequest:
            return types.CallToolRequest(
                params=types.CallToolRequestParams(
                    name=place.name, arguments=arguments, input_responses=responses, request_state=state, _meta=meta
                )
            )

        try:
            result = await gateway.forwarder.forward(
                ctx,
                upstream,
                make,
                repeatable=gateway.is_repeatable(name),
                responses=params.input_responses,
                state=params.request_state,
                before=self._confirmation(ctx, name, arguments),
            )
        except ServerUnavailableError as error:
            return error_result(str(error))
        except MCPError as error:
            if not explain or error.code != types.INVALID_PARAMS or not _is_first_round(params):
                raise
            return error_result(f"{error.message}\n{self._explanation(tool, arguments)}")
        if not isinstance(result, dict):
            return result
        result = gateway.merged.resources.with_shown_uris(place.server, result)
        # Where `read_result` is listed. A client that sees the output schema refuses a result without the structured
        # content that a cut leaves out.
        if explain or (gateway.searching and tool.output_schema is None):
            most = upstream.given.options.result_characters
            result = without_large_files(self._long_results.cut(result, most, principal_of(ctx)), most)
        if explain and result.get("isError"):
            explanation = {"type": "text", "text": self._explanation(tool, arguments)}
            result = {**result, "content": [*result.get("content", []), explanation]}
        return result

    def _explanation(self, tool: types.Tool, arguments: dict[str, Any] | None) -> str:
        """What is wrong with the arguments, as far as it is certain, and the definition of the tool."""
        problems = argument_problems(tool.input_schema, arguments or {})
        lines = [f"Arguments: {'; '.join(problems)}."] if problems else []
        return "\n".join([*lines, f"Its definition: {self._gateway.finder.definition(tool.name)}"])

    def _confirmation(
        self, ctx: Context, name: str, arguments: dict[str, Any] | None
    ) -> Callable[[Caller], Awaitable[Raw | None]] | None:
        """Asks the person before this call; None if the policy does not require it, or the client cannot ask."""
        client, place = conversation_of(ctx), self._gateway.merged.tool_places[name]
        capabilities = ctx.session.client_capabilities
        if (
            not self._gateway.needs_confirmation(name)
            or capabilities is None
            or capabilities.elicitation is None
            or self._confirmations.is_remembered(client, name)
        ):
            return None

        async def ask(caller: Caller) -> Raw | None:
            return await self._confirmations.ask(
                caller, client, name, server=place.server, name=place.name, arguments=arguments
            )

        return ask


def _is_first_round(params: types.CallToolRequestParams) -> bool:
    """Whether a call begins: with a request state or input responses, a client continues one."""
    return params.request_state is None and not params.input_responses
