"""Find where the numbers of a step break."""
