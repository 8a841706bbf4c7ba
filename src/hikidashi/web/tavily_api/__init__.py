"""Tavily's HTTP API: requests and answers as data, and a server that answers them from any provider."""
