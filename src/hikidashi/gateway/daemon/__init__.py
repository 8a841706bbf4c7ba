"""One background process for all clients of a configuration, and the processes that connect clients to it."""
