"""The abstract machine: it executes a program with abstract values, and leaves the events that a real run leaves."""
