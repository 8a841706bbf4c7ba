"""Helpers independent of any framework: folders, private files, SQLite, URLs, Unicode, a loopback HTTP server."""
