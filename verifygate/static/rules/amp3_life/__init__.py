"""Rules about the life of a scaler: how it is built, switched on, kept over epochs and runs."""
