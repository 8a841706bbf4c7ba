"""Crawling a site by its links, within limits and as robots.txt allows.

Offers `crawl_site`, `map_site` and their options.
"""
