"""One live Claude Code CLI: how it starts, what it streams, which calls wait, and how it ends.

Offers `Session`, `RunScope`, and how both start, to the model.
"""
