"""Source files: discovery, text, outline, git."""
