"""Train a tiny model with a rule's example, and measure it."""
