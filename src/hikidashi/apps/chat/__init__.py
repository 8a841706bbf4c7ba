"""The chat in a terminal: a conversation with a model that has the web tools."""

from __future__ import annotations
