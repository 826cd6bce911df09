"""What the machine knows of Python itself: builtins, methods of containers and texts, the standard library."""
