"""Rules about training in float8: regions of Transformer Engine, layers that torchao converts."""
