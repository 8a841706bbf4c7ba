"""Conversions between the neutral `Tool` and each framework, one file per framework.

`from_x` brings the tools of framework x in, `to_x` sends them out. A conversion is faithful or
refused: what a target cannot express raises `Unsupported`, which names it. This package itself
imports no framework; each file imports the one it is named after.
"""
