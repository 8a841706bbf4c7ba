"""The search engine: an analyzer makes terms, BM25F ranks, and a gate decides whether the search is confident.

Offers `Index`, `read_query`, `judged`, `Pattern`, `Entry` and the saved form to the catalogue.
"""
