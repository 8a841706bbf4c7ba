"""Calls of tools by clients since 2026-07-28, without the layers of the `mcp` package that other requests need.

A call of that revision is self-contained: no session, no request back to the client. What does not look like an
ordinary call is left to the package, so that each refusal is written in one place.
"""
