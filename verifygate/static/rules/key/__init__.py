"""Rules about contracts between functions."""
