"""The log of searches and calls in SQLite, and the report on it: `SearchLog`, `Recorder`, `report`."""
