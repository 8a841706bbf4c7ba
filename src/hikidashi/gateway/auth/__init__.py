"""Authorization, both ways: who may use the gateway (OAuth 2.1 resource server), and logins to the servers behind it.

Offers `OAuthOptions` and `Logins`; what enforces them is used by the transports and by the upstream servers.
"""
