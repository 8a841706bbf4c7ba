"""A site read by its links, within limits and as robots.txt allows.

Offers `crawl_site` and `map_site` to providers, and their options to everyone.
"""
