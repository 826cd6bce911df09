"""Path-sensitive exploration of event graphs, and how certain a violation is."""
