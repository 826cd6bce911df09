"""Roles by use: what the methods that a program calls on a variable say of it, whatever the variable is called."""
