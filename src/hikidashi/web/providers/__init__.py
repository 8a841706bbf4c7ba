"""Who answers a search: Tavily, SearXNG, or the local index; `choose` picks one.

Offers a `SearchProvider` to the tools, and nothing of its inside.
"""
