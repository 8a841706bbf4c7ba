"""Messages changed between a connection and the `mcp` package: repaired lists, and events of any size."""
