"""JSON-RPC messages as bytes."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

__all__ = ["encoded"]


def encoded(message: dict[str, Any]) -> bytes:
    """`message` as JSON."""
    try:
        return to_json(message)
    except (PydanticSerializationError, UnicodeError):  # lone surrogates, which JSON can escape
        return json.dumps(message, separators=(",", ":")).encode()
