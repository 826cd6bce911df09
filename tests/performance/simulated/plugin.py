"""Named at run time only."""
