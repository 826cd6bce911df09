"""Rules about the GradScaler protocol."""
