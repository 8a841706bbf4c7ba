"""Results as text for a model: formatted, fenced, limited in length, and packed into a context."""
