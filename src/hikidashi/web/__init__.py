"""Web tools: search, extract, context; through Tavily, SearXNG, or an index of one's own documents."""
