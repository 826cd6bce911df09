"""Stage: what the source says, without running it."""
