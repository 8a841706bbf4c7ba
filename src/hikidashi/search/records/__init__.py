"""The log of searches and calls in SQLite, and the report on what it says about the tools.

Offers `SearchLog`, `Recorder` and `report`.
"""
