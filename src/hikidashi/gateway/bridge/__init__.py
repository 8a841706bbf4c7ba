"""Any client revision with any server revision: metadata of each hop, requests from server to client, parked calls.

Offers `Forwarder` to the gateway: it forwards a request of a client to a server and returns the answer.
"""
