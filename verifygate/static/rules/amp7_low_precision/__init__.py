"""Rules about what must stay in float32, or needs a copy in it."""
