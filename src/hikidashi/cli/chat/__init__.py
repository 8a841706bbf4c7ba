"""`hikidashi chat`: a conversation in the terminal, with the web tools at the model's hand."""
