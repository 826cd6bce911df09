"""A folder for the module path of the subject's own child processes: it holds nothing but their start-up module."""
