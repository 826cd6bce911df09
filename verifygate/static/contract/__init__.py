"""Build the precision contract from the source and the files that configure it."""
