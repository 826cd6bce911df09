"""One module per rule, in families. The docstring is the rule's documentation; `RULE` and `check` are the rule."""
