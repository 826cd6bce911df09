"""Running the audited project in child processes."""
