"""Rules about configuration that is written outside the training loop."""
