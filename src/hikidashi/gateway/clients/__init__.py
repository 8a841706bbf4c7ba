"""MCP clients on this machine: the servers they have, and our entry in their configuration.

Boundary: nothing else knows where a client keeps its files, or their format.
"""

from __future__ import annotations
