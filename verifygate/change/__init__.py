"""What a change brings: what stood where it began, and what of it moved since."""
