"""`hikidashi serve`: `commands` has its commands, `options` their options and the short way of a client's process."""
