"""Searches and calls of many clients in one record, each in a session of its own."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import mcp_types as types
from mcp.server.request_state import authenticated_principal

from ...search.records.conversation import record_call
from ...search.records.log import FoundBy, Recorder, SearchLog
from ..bridge.callers import client_key
from ._support import Context

__all__ = ["ClientRecords"]


class ClientRecords:
    """Passes searches and calls to a recorder; a `SearchLog` gets a session for each client.

    Arguments and results are not recorded.
    """

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._salt = secrets.token_bytes(16)

    def searched(self, ctx: Context, query: str, kind: str, names: Sequence[str]) -> None:
        """Record a search of the client of `ctx`."""
        if self._recorder is not None:
            with self._session(ctx):
                self._recorder.searched(query, kind, names)

    def called(self, ctx: Context, name: str, *, found_by: FoundBy | None) -> None:
        """Record a call of the client of `ctx`; `found_by` None leaves it to the searches of its session."""
        if self._recorder is not None:
            with self._session(ctx):
                record_call(self._recorder, name, found_by)

    def _session(self, ctx: Context) -> AbstractContextManager[object]:
        if not isinstance(self._recorder, SearchLog):
            return nullcontext()
        # Salted, since the id of an HTTP session is as good as a password.
        digest = hashlib.sha256(self._salt + _conversation(ctx).encode("utf-8", "surrogatepass"))
        return self._recorder.session(digest.hexdigest()[:12])


def _conversation(ctx: Context) -> str:
    """What the requests of one client have in common, also where each is a connection of its own."""
    key = client_key(ctx)
    if ctx.request is None or not key.startswith("request "):
        return key
    meta = cast("dict[str, Any]", ctx.meta or {})
    peer = ctx.request.client
    return repr(
        (authenticated_principal(ctx), meta.get(types.CLIENT_INFO_META_KEY), None if peer is None else peer.host)
    )
