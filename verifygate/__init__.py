"""The version, and nothing else: importing a lean sub-package must load nothing heavy."""

__version__ = "0.1.0"
