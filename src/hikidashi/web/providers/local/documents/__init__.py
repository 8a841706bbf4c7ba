"""Documents for the index: found in folders and on pages, and parsed."""
