"""From syntax trees to event graphs: one graph per entry point, calls inlined."""
