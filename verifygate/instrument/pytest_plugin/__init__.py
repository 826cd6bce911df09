"""Tell the gate what a test run really does, and put instruments in place before it."""
