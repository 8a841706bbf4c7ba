"""Request handlers of the gateway's MCP server: tools, resources, prompts.

Offers one class of handlers for each kind; each handler answers a request itself or forwards it to a server.
"""
