"""What the person who starts the gate has set must not reach the tests."""

import os
import sys
import warnings


def test_no_variable_bends_the_run():
    bending = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "SECRET_TOKEN")
    assert [name for name in bending if name in os.environ] == []
    assert sys.flags.optimize == 0
    warnings.warn("harmless", UserWarning, stacklevel=1)


def test_what_the_configuration_names_is_there():
    assert os.environ["DATA_DIR"] == "here"
