"""Tavily through the real `tavily-python` client. Offers `TavilyAPIClient`."""
