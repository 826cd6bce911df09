from pathlib import Path

import training


def test_rewrites():
    source = Path(training.__file__)
    source.write_text(source.read_text() + "STEPS = 20\n")
