"""The parts of the site that are made from the code at build time, so that they cannot be out of date.

Everything is read through the public doors and their `__all__`; no module below them is named here.
"""
