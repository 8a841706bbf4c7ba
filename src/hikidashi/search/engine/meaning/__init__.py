"""Search by meaning: vectors of tools and questions, and their fusion with the search by words."""
