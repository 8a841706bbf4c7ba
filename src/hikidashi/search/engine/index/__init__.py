"""The inverted index: weighted fields, posting lists, BM25F with pruning, and the vocabulary.

Offers `Index`, `Postings`, `Vocabulary` and `weighted_terms` to the rest of the engine.
"""
