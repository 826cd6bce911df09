"""The mark of a requirement goes above the test, and no other line changes."""

from __future__ import annotations

import pytest

from verifygate.base.errors import UsageError
from verifygate.requirements.mark_tests import marked

PYTEST = "import pytest\n"
MARK = '@pytest.mark.requirement("A-1")\n'


@pytest.mark.parametrize(
    ("before", "names", "after"),
    [
        ("import pytest\n\ndef test_a(): ...\n", ["test_a"], f"import pytest\n\n{MARK}def test_a(): ...\n"),
        (
            "import pytest\n\n@pytest.mark.slow\nasync def test_a(): ...\n",
            ["test_a"],
            f"import pytest\n\n{MARK}@pytest.mark.slow\nasync def test_a(): ...\n",
        ),
        (
            "import pytest\n\nclass TestA:\n    x = 1\n\n    def test_a(self): ...\n",
            ["TestA", "test_a"],
            f"import pytest\n\nclass TestA:\n    x = 1\n\n    {MARK}    def test_a(self): ...\n",
        ),
        (
            '"""Doc."""\n\nfrom __future__ import annotations\n\nimport os\n\ndef test_a(): ...\n',
            ["test_a"],
            f'"""Doc."""\n\nfrom __future__ import annotations\n\n{PYTEST}import os\n\n{MARK}def test_a(): ...\n',
        ),
        ("def test_a(): ...\n", ["test_a"], f"import pytest\n{MARK}def test_a(): ...\n"),
        (
            "import pytest as p\n\n@p.mark.slow\ndef test_a(): ...",
            ["test_a"],
            f"import pytest\nimport pytest as p\n\n{MARK}@p.mark.slow\ndef test_a(): ...",
        ),
    ],
)
def test_the_mark_is_a_line_of_its_own(before: str, names: list[str], after: str) -> None:
    """Functions, coroutines, methods; behind a docstring and `__future__` imports."""
    assert marked(before, names, "A-1", "t.py") == after
    assert marked(after, names, "A-1", "t.py") == after


def test_line_ends_stay() -> None:
    """A file of CRLF lines gets CRLF lines."""
    assert marked("import pytest\r\ndef test_a(): ...\r\n", ["test_a"], "A-1", "t.py") == (
        'import pytest\r\n@pytest.mark.requirement("A-1")\r\ndef test_a(): ...\r\n'
    )


def test_the_test_that_pytest_sees() -> None:
    """The last of two definitions of one name; further marks stand beside the first."""
    text = "import pytest\ndef test_a(): ...\ndef test_a(): ...\n"
    assert marked(text, ["test_a"], "A-1", "t.py") == f"import pytest\ndef test_a(): ...\n{MARK}def test_a(): ...\n"
    assert marked(f"import pytest\n{MARK}def test_a(): ...\n", ["test_a"], "B-2", "t.py").count("@pytest") == 2


@pytest.mark.parametrize(("text", "told"), [("def (", "cannot be read as Python"), ("x = 1\n", "there is no test")])
def test_what_holds_no_test(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        marked(text, ["test_a"], "A-1", "t.py")
