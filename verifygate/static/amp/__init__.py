"""The objects of mixed precision: scalers, optimizers, autocast regions, scaled losses."""
