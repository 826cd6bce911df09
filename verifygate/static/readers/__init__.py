"""Rules as readers of what the machine observed. None of them is asked by a report yet: see docs/machine.md."""
