"""A small GPT trained with explicit automatic mixed precision (AMP): read `train.py` first."""
