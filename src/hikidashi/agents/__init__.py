"""Ready agents: pydantic-ai, Claude Code and strands, each with the web tools."""
