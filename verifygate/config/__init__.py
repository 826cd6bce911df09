"""Settings, and the documents they are read from."""
