"""The command that stands before every commit: static rules only, answers kept."""
