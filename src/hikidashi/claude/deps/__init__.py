"""Checks that dependencies can be serialised as JSON, for `deps_support`."""
