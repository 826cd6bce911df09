"""Parsing, tree traversal, and the memory that trees take."""
