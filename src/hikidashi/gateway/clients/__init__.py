"""MCP clients on this machine: the servers they have, and our line in their configuration.

Boundary: nothing else knows where a client keeps its files, or how they look.
"""

from __future__ import annotations
