"""The answers to a search that a model reads, within a token budget, and the `search_tools` and `call_tool` pair.

The seams use `ToolSearchHandler`, `search_catalog` and `wording`.
"""
