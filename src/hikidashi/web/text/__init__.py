"""Texts cut into passages, the words of a text in any script, and the passages that matter for a question."""
