"""Results as the text a model reads: formatted, fenced, bounded, and the passages that matter."""
