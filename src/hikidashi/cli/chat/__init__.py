"""`hikidashi chat`: a conversation with a model that has the web tools, in the terminal."""
