"""Calls of 2026-07-28 to a server without the session of the `mcp` package, over HTTP or the streams of a process."""
