"""Record what a run does with AMP: events, gradients, regions, steps, and the dtypes of its matrix work."""
