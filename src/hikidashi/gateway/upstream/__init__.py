"""The servers behind the gateway: connected when needed, watched, restarted, stopped when idle.

Offers `Upstream`, what it lists, and the errors of servers that cannot be reached.
"""
