"""Attestations: what a report says, as signed in-toto statements that travel without it, and whether to believe one."""
