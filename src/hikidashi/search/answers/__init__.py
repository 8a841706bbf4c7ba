"""What a model reads of a search, within a budget of tokens, and the `search_tools` and `call_tool` pair.

Offers `ToolSearchHandler`, `asked` and `wording` to the seams.
"""
