"""One module for each rule of its own: its docstring is the rule's page."""
