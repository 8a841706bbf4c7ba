"""pydantic-ai tools as Claude Code runs them: taken apart, restricted, called in order."""
