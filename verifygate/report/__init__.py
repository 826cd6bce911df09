"""A report as text: pure functions from the data model to files, one module per format."""
