"""Tool search beside its peers: how often it finds the tool, how fast, how safely, and how many tokens it saves."""
