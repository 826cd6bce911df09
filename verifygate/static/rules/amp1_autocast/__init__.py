"""Rules about autocast regions."""
