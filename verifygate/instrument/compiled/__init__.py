"""What torch.compile makes of a program, against the program."""
