"""Regular expressions in linear time."""
