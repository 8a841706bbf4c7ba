"""The entry of a server in a config file: read in the forms of every client, with references expanded, and checked."""
