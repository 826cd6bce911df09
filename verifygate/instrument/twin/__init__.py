"""A recording of its own for the twin test: every operator with its dtypes. No run of a user's has it on."""
