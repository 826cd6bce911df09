"""The security stage: what a training change can do that has no place there; existing analysers are run and judged."""
