"""Branch predicates: their normal form, and what holds at a point of the program."""
