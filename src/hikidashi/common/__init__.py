"""Helpers for every room, with no framework: folders, files, SQLite, URLs, Unicode, a loopback HTTP server."""
