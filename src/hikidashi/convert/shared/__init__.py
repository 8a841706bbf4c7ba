"""What several conversions share: checks of tools, names and root schemas that the APIs accept, and media types."""
