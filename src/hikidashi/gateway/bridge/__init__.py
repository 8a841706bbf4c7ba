"""Any client revision with any server revision: metadata at each hop, requests from server to client, parked calls.

Offers `forward` to the gateway: one request of a client carried to a server, and its answer back.
"""
