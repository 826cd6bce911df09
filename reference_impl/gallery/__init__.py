"""Training loops to copy: one file for each thing that mixed precision is often got wrong with."""
