"""Handlers of `tools/*`: the list, the gateway's own tools, and calls that are confirmed, forwarded and recorded."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.request_state import authenticated_principal

from ..common.json import as_object, is_object
from ..errors import ServerUnavailableError, ToolSearchError
from ..search.log import FoundBy, Recorder, in_conversation, record_call
from ..servers.revisions import is_modern_client
from .callers import Caller, Context, client_key, conversation_of, principal_of, refuse_cursor
from .finder import CALL_READ_TOOL, OWN_TOOLS, READ_RESULT, SEARCH_TOOLS
from .forward import passed_on
from .gateway import Gateway
from .parked import Raw
from .results import LongResults, argument_problems, without_large_files
from .telemetry import call_span, describe_call, search_span

_MOST_CLIENTS = 1_024


class ToolHandlers:
    """Lists tools, searches them, and calls them at their servers."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._long_results = LongResults()
        self._records = ClientRecords(gateway.record)
        self._confirmations = Confirmations()
        self._promoted: OrderedDict[str, dict[str, None]] = OrderedDict()

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Answer `tools/list`."""
        refuse_cursor(params)
        self._gateway.remember_client(ctx)
        if (name := _called_over_http(ctx)) is not None:
            if name not in OWN_TOOLS:
                await self._gateway.until_known(name, lambda: name in self._gateway.merged.tools)
            if not self._gateway.searching and (called := self._gateway.merged.tools.get(name)) is not None:
                return types.ListToolsResult(tools=[called], cache_scope="private")
        await self._gateway.first_lists.wait(is_urgent=lambda: self._gateway.searching)
        if self._gateway.searching:
            self._gateway.finder.embed()  # a search comes next
        promoted = self._promoted.get(client_key(ctx), ()) if self._promotes(ctx) else ()
        return types.ListToolsResult(tools=self._gateway.listed_tools(promoted), cache_scope="private")

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Raw | types.Result:
        """Answer `tools/call`."""
        # The client may have listed them when fewer servers were known, so they are answered also where they are not
        # listed any more. No other tool has their names.
        if params.name not in OWN_TOOLS or self._gateway.options.search == "off":
            return await self._call(ctx, params, params.name, params.arguments)
        given = params.arguments or {}
        if params.name == SEARCH_TOOLS:
            return await self._search(ctx, given)
        if params.name == READ_RESULT:
            return self._read_result(ctx, given)
        return await self._call_found(ctx, params, given)

    async def _call_found(
        self, ctx: Context, params: types.CallToolRequestParams, given: dict[str, Any]
    ) -> Raw | types.Result:
        """Answer `call_read_tool` and `call_tool`."""
        name, arguments = given.get("name"), _object(given.get("arguments"))
        if not isinstance(name, str):
            return _error_result(f"`name` is {name!r}: give the name of a tool, as {SEARCH_TOOLS} shows it.")
        if arguments is None:
            return _error_result(f"`arguments` is {given.get('arguments')!r}: give an object.")
        return await self._call(ctx, params, name, arguments, through=params.name)

    async def _search(self, ctx: Context, given: dict[str, Any]) -> types.Result:
        query = given.get("query")
        if not isinstance(query, str) or not query.strip():
            return _error_result(f"`query` is {query!r}: give a few words about what you want to do.")
        await self._gateway.first_lists.wait()
        with search_span() as span:
            try:
                await self._gateway.finder.prepare(query)
                answer = self._gateway.search(query)
            except ToolSearchError as error:
                return _error_result(str(error))
            span.set_attributes({"hikidashi.search.kind": answer.kind, "hikidashi.search.found": len(answer.names)})
        self._records.searched(ctx, query, answer.kind, answer.names)
        if self._promotes(ctx) and answer.whole:
            await self._promote(ctx, answer.whole)
        return types.CallToolResult(content=[types.TextContent(text=answer.text)])

    def _read_result(self, ctx: Context, given: dict[str, Any]) -> types.Result:
        handle, offset = given.get("handle"), _whole_number(given.get("offset"))
        if offset is None or offset < 0:
            return _error_result(f"`offset` is {given.get('offset')!r}: give a whole number from 0 on.")
        text = self._long_results.read(str(handle), offset, principal_of(ctx))
        if text is None:
            return _error_result(f"Nothing is kept under {handle!r} any more. Call the tool again.")
        return types.CallToolResult(content=[types.TextContent(text=text)])

    def _promotes(self, ctx: Context) -> bool:
        return self._gateway.options.promote and not is_modern_client(ctx)

    async def _promote(self, ctx: Context, names: Sequence[str]) -> None:
        """List `names` for this client from now on."""
        promoted = self._promoted.setdefault(client_key(ctx), {})
        self._promoted.move_to_end(client_key(ctx))
        while len(self._promoted) > _MOST_CLIENTS:
            self._promoted.popitem(last=False)
        if not set(names) <= set(promoted):
            promoted.update(dict.fromkeys(names))
            await ctx.session.send_tool_list_changed()

    async def _call(
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
            return _error_result(f"{name!r} is not called through {through}: call {name} itself, with its arguments.")
        if name not in gateway.merged.tool_places:
            await gateway.until_known(name, lambda: name in gateway.merged.tool_places)
        place = gateway.merged.tool_places.get(name)
        if place is None:
            with suppress(ToolSearchError):
                await gateway.finder.prepare(name)
            return _error_result(gateway.nearest(name))
        # Here, where its definition is known: the name may be older than the list.
        if through is not None and through != (right := gateway.finder.call_with(name)):
            kind = "only reads" if right == CALL_READ_TOOL else "may change something"
            return _error_result(f"{name!r} {kind}: call it with {right}.")
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
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(
                name=place.name,
                arguments=arguments,
                input_responses=params.input_responses,
                request_state=params.request_state,
                _meta=passed_on(ctx),
            )
        )
        try:
            result = await gateway.forwarder.forward(
                ctx,
                upstream,
                request,
                repeatable=name in gateway.repeatable,
                before=self._confirmation(ctx, name, arguments),
            )
        except ServerUnavailableError as error:
            return _error_result(str(error))
        except MCPError as error:
            if not explain or error.code != types.INVALID_PARAMS or not _is_first_round(params):
                raise
            return _error_result(f"{error.message}\n{self._explanation(tool, arguments)}")
        if not isinstance(result, dict):
            return result
        if place.server in gateway.merged.resources.renaming:
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
            name not in self._gateway.confirmed
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


def _called_over_http(ctx: Context) -> str | None:
    """The tool that this HTTP request calls; None if it is not a call.

    Before a call, the `mcp` package lists the tools to compare the headers that a tool declares (`x-mcp-header`). One
    definition is enough for that: there may be thousands.
    """
    if ctx.request is None or ctx.request.headers.get("mcp-method") != "tools/call":
        return None
    return ctx.request.headers.get("mcp-name")  # the package has refused one that is not in the body


def _object(value: object) -> dict[str, Any] | None:
    """`value` as an object: some models send it as JSON text; None is an empty object."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if is_object(value) else None


def _whole_number(value: object) -> int | None:
    """`value` as a whole number: some models send it as text or with a fraction of 0; None is 0."""
    if value is None:
        return 0
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value // 1 else None


def _error_result(text: str) -> types.CallToolResult:
    """A result that reports an error to the model."""
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _is_first_round(params: types.CallToolRequestParams) -> bool:
    """Whether a call begins: with a request state or input responses, a client continues one."""
    return params.request_state is None and not params.input_responses


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


class ClientRecords:
    """Passes searches and calls to a recorder; in a `CallLog` each client is a conversation.

    Arguments and results are not recorded.
    """

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._salt = secrets.token_bytes(16)

    def searched(self, ctx: Context, query: str, kind: str, names: Sequence[str]) -> None:
        """Record a search of the client of `ctx`."""
        if self._recorder is not None:
            with self._session(self._recorder, ctx):
                self._recorder.searched(query, kind, names)

    def called(self, ctx: Context, name: str, *, found_by: FoundBy | None) -> None:
        """Record a call of the client of `ctx`; `found_by` None leaves it to the searches of its session."""
        if self._recorder is not None:
            with self._session(self._recorder, ctx):
                record_call(self._recorder, name, found_by)

    def _session(self, recorder: Recorder, ctx: Context) -> AbstractContextManager[object]:
        # Salted, since the id of an HTTP session is as good as a password.
        digest = hashlib.sha256(self._salt + _conversation(ctx).encode("utf-8", "surrogatepass"))
        return in_conversation(recorder, digest.hexdigest()[:12])


def _conversation(ctx: Context) -> str:
    """What the requests of one client have in common, also where each is a connection of its own."""
    key = client_key(ctx)
    if ctx.request is None or not key.startswith("request "):
        return key
    meta = as_object(ctx.meta)
    peer = ctx.request.client
    return repr(
        (authenticated_principal(ctx), meta.get(types.CLIENT_INFO_META_KEY), None if peer is None else peer.host)
    )
