"""Rules about the gate's own comments."""
