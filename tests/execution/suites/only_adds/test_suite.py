from pathlib import Path


def test_writes_a_module():
    Path(__file__).with_name("generated.py").write_text("STEPS = 10\n")
    Path(__file__).with_name("generated.py").write_text("STEPS = 10\n")
