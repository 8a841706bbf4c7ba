"""One live Claude Code CLI: how it starts, what it streams, which calls wait, and how it ends.

Offers `Session`, `Scope` and the launch of both to the model.
"""
