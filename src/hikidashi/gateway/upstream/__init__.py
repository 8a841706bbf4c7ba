"""The servers behind the gateway: connected on demand, monitored, restarted, stopped when idle.

Offers `Upstream`, its state and its listing.
"""
