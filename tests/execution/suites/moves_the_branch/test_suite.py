from pathlib import Path


def test_moves_the_head():
    head = Path(__file__).with_name(".git") / "HEAD"
    head.write_text("ref: refs/heads/other\n")
