"""MCP servers: their entries in config files, their processes and connections, and the tools they list."""
