"""The texts of the web tools, one table per language, and the messages and reasons made from them."""
