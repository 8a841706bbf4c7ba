"""Settings of a gateway: config files, checked options, and the servers that a person has approved."""
