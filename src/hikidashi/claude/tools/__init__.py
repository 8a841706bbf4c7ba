"""pydantic-ai tools as Claude Code runs them: unwrapped, restricted, called in order."""
