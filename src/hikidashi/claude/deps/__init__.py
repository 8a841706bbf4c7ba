"""Which dependencies can cross a process as JSON; the checks behind `deps_support`."""
