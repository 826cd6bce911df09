"""Time and profile one arm of a performance comparison."""
