"""Search providers: Tavily, SearXNG and the local index; `choose` selects one.

The tools use them through `SearchProvider` alone.
"""
