"""`hikidashi serve`: `commands` has its commands and options, `attaching` the short way of the process on stdio."""
