"""The language server: the findings of a project in an editor, while it is written. Only this package loads pygls."""
