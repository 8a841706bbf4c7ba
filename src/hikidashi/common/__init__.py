"""Helpers independent of any framework: JSON, files and folders, SQLite, exceptions of others, URLs, Unicode."""
