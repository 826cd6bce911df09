"""Rules as readers of what the machine observed. `../abstract_run.py` reports what they find."""
