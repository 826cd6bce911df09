"""Abstract interpretation on demand: which values an expression may have, and what a call may run."""
