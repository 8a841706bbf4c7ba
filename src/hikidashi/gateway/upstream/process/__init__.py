"""Processes of servers: their limits, their memory, and their end when the gateway is killed."""
