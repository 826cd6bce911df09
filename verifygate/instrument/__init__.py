"""What runs inside the audited project's own interpreter: torch, pytest, coverage and the standard library only.

Nothing here may import the rest of verifygate, and the gate's process never imports what is in here: it copies the
files next to the project and reads what they wrote.
"""
