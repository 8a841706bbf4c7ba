"""Handlers of `prompts/*` and `completion/complete`."""

from __future__ import annotations

import mcp_types as types
from mcp import MCPError

from ..bridge.meta import passed_on
from ..bridge.parked import Raw
from ..gateway import Gateway
from ..merged import Origin
from ._support import Context, raw_meta, refuse_cursor, unavailable_as_mcp_error

__all__ = ["PromptHandlers"]


class PromptHandlers:
    """Lists the prompts of all servers, and forwards requests to the server of each."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """Answer `prompts/list`."""
        refuse_cursor(params)
        self._gateway.remember_client(ctx)
        await self._gateway.first_lists.wait()
        return types.ListPromptsResult(prompts=list(self._gateway.merged.prompts.values()), cache_scope="private")

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Raw | types.Result:
        """Answer `prompts/get`."""
        await self._gateway.until_known(params.name, lambda: params.name in self._gateway.merged.prompt_places)
        place = self._gateway.merged.prompt_places.get(params.name)
        if place is None:
            raise MCPError(types.INVALID_PARAMS, f"No server has the prompt {params.name!r}.")
        meta = passed_on(raw_meta(ctx))

        def make(responses: types.InputResponses | None, state: str | None) -> types.ClientRequest:
            return types.GetPromptRequest(
                params=types.GetPromptRequestParams(
                    name=place.name,
                    arguments=params.arguments,
                    input_responses=responses,
                    request_state=state,
                    _meta=meta,
                )
            )

        with unavailable_as_mcp_error():
            result = await self._gateway.forwarder.forward(
                ctx,
                self._gateway.upstream_of(place.server),
                make,
                responses=params.input_responses,
                state=params.request_state,
            )
        resources = self._gateway.merged.resources
        return resources.with_shown_uris(place.server, result) if isinstance(result, dict) else result

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> Raw | types.Result:
        """Answer `completion/complete` for a prompt or a resource template."""
        ref = params.ref
        if isinstance(ref, types.PromptReference):
            shown = ref.name
            await self._gateway.until_known(shown, lambda: self._place_of(ref) is not None)
        else:
            shown = str(ref.uri)
            await self._gateway.first_lists.wait_until(lambda: self._place_of(ref) is not None)
        place = self._place_of(ref)
        if place is None:
            raise MCPError(types.INVALID_PARAMS, f"No server has the prompt or resource template {shown!r}.")
        if isinstance(ref, types.PromptReference):
            ref = ref.model_copy(update={"name": place.name})
        else:
            ref = ref.model_copy(update={"uri": place.name})
        request = types.CompleteRequest(params=params.model_copy(update={"ref": ref, "meta": passed_on(raw_meta(ctx))}))
        with unavailable_as_mcp_error():
            return await self._gateway.forwarder.forward(
                ctx, self._gateway.upstream_of(place.server), lambda _, __: request
            )

    def _place_of(self, ref: types.PromptReference | types.ResourceTemplateReference) -> Origin | None:
        merged = self._gateway.merged
        if isinstance(ref, types.PromptReference):
            return merged.prompt_places.get(ref.name)
        return merged.resources.template_place(str(ref.uri))
