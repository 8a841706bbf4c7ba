"""What clients are offered: the tools of all servers under unique names, the gateway's own tools, and their search."""
