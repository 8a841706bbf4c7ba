"""Tavily's HTTP API: its requests and responses as data, and a server that serves any provider through it."""
