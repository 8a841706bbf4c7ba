"""Claude Code as a pydantic-ai model, and pydantic-ai tools in Claude Code (spec 002).

    mcp_integration   toolsets  -> an in-process MCP server
    tool_converter    one Tool  -> one SdkMcpTool
    deps_support      dependencies: check, serialise, deserialise, provide to a tool
    model, session    ClaudeCodeModel and its live CLI conversation

Importing this package imports none of them.
"""
