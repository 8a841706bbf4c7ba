"""Alias of `hikidashi.search.records.log`, where these names live now."""

from .records.log import RecordedSearch, Recorder, SearchLog

__all__ = ["RecordedSearch", "Recorder", "SearchLog"]
