"""Perturb a run (scale, dtype, inf) and tell what its weights and gradients become."""
