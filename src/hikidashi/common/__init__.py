"""Helpers that know no framework: folders, private files, SQLite, URLs, Unicode, a loopback HTTP server."""
