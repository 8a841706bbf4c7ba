"""What several rooms need and no framework knows: lazy doors, private files, atomic writes, a loopback server."""
