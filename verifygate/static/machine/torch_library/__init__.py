"""torch as data and pure functions: which dtypes come out of what, inside an autocast region and outside.

`operators.json` is measured on an installed torch by `tests/static/machine/torch_library/fitted_operators.py`. Nothing
here imports torch.
"""
