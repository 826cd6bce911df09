"""What a few lines leave in their variables: expressions, calls, classes, containers, branches, loops."""

from __future__ import annotations

import pytest
from run_text import run, shown, value, variable

from verifygate.static.machine.lattice import atoms
from verifygate.static.machine.store import Store
from verifygate.static.machine.values import Address, Constant, constant

OPTIONS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--dtype", choices=["half", "full"], default="full")
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("x = 2 * 3 + 1", "7"),
        ("x = 'a' + 'b'", "'ab'"),
        ("x = f'{1}-{\"b\"}'", "'1-b'"),
        ("x = 9 ** 9 ** 9", "?"),
        ("x = 'a' * 10 ** 9", "?"),
        ("x = [0] * 10 ** 9", "[*0]"),
        ("x = '%1000000000d' % 1", "?"),
        ("x = 1 << 10 ** 9", "?"),
        ("x = not 0", "True"),
        ("x = 3 if 1 < 2 else 4", "3"),
        ("x = 0 or 5", "5"),
        ("p = (1, 'a') if unheard_of > 1 else (2, 'b')\ny, x = p", "'a' | 'b'"),
        ("a, (b, *c) = 1, (2, 3, 4); x = (a, b, c)", "(1, 2, [3, 4])"),
        ("x = [each * 2 for each in (1, 2) if each > 1]", "[4]"),
        ("y = 1; z = [y for y in (5, 6)]; x = y", "1"),
        ("x = {'a': 1, **{'b': 2}}['b']", "2"),
        ("d = {}; d['k'] = 3; d.update(j=4); x = d.get('j')", "4"),
        ("x = [1]; x.append(2); x += [3]", "[1, 2, 3]"),
        ("x = [1]; y = x; y += [2]", "[1, 2]"),
        ("x = (1, 2); y = x; y += (3,)", "(1, 2)"),
        ("x = type('a') is str, type([]) is dict", "(True, False)"),
        ("from collections import deque\nd = deque([1, 2])\nd.append(3)\nx = d.popleft()", "1 | 2 | 3"),
        ("x = [1, 2, 3][-1]", "3"),
        ("x = (1, 2, 3)[1:]", "(2, 3)"),
        ("x = 0\nfor k, v in {'a': 1, 'b': 2}.items():\n    x += v", "3"),
        ("x = sum(range(4))", "6"),
        ("x = list(zip((1, 2), 'ab'))", "[(1, 'a'), (2, 'b')]"),
        ("x = list(map(lambda n: n + 1, [1, 2]))", "[2, 3]"),
        ("x = isinstance(3, int) and not isinstance('a', int)", "True"),
        ("x = getattr({'a': 1}, 'get')('a')", "1"),
        ("x = 'HALF'.lower()", "'half'"),
        ("(x := 4)", "4"),
        ("x = unheard_of", "?"),
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(lines: str, expected: str) -> None:
    assert variable(run(lines), "x") == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("def f(a, b=2, *c, d, **e): return (a, b, c, d, e)\nx = f(1, d=4, z=5)", "(1, 2, (), 4, [5])"),
        ("def f(n):\n    def g(z): return z + n\n    return g\nx = f(2)(3)", "5"),
        ("n = 1\ndef f():\n    global n\n    n = 2\nf()\nx = n", "2"),
        ("def f():\n    n = 1\n    def g():\n        nonlocal n\n        n = 3\n    g()\n    return n\nx = f()", "3"),
        (
            "def twice(f):\n    def g(n): return f(f(n))\n    return g\n@twice\ndef add(n): return n + 1\nx = add(1)",
            "3",
        ),
        ("from functools import partial\ndef f(a, b): return a - b\nx = partial(f, b=1)(5)", "4"),
        ("def f(n): return f(n - 1)\nx = f(3)", "?"),
        ("def f(*given, **named): return g(*given, **named)\ndef g(a, b): return a + b\nx = f(1, b=2)", "3"),
        ("def f():\n    yield 1\n    yield 2\nx = 0\nfor each in f():\n    x += each", "3"),
        ("def f(a):\n    if a: return 1\n    return 2\nx = (f(0), f(1))", "(2, 1)"),
        ("import sys\nx = 1\ndef f(): sys.exit()\nif unheard_of:\n    f()\n    x = 2", "1"),
    ],
)
def test_a_call_runs_in_its_own_context(lines: str, expected: str) -> None:
    assert variable(run(lines), "x") == expected


CLASSES = """
class A:
    kind = "a"
    def __init__(self, n): self.n = n
    @property
    def twice(self): return self.n * 2
    @classmethod
    def make(cls): return cls(7)
    @staticmethod
    def plain(n): return n
    def name(self): return "A"
class B(A):
    def __init__(self): super().__init__(4)
    def name(self): return "B" + super().name()
class C(A):
    def name(self): return "C" + super().name()
class D(B, C): pass
class G:
    def __getattr__(self, name): return name
    def __call__(self, n): return n + 1
    def __getitem__(self, n): return n * 2
    def __add__(self, other): return other
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = B().twice", "8"),
        ("x = A.make().n", "7"),
        ("x = A.plain(3)", "3"),
        ("x = D().name()", "'BCA'"),
        ("x = B().kind", "'a'"),
        ("x = G().anything", "'anything'"),
        ("x = G()(1)", "2"),
        ("x = G()[4]", "8"),
        ("x = G() + 5", "5"),
        ("x = hasattr(B(), 'n'), hasattr(B(), 'm')", "(True, False)"),
        ("x = isinstance(D(), C)", "True"),
        ("b = B(); setattr(b, 'm', 9); x = getattr(b, 'm')", "9"),
        ("b = B(); c = b; c.n = 1; x = b.n", "1"),
        ("b = B(); c = A(3); b.n = 1; x = c.n", "3"),
        ("class H(unheard_of): pass\nx = H().field", "?"),
    ],
)
def test_objects_are_known_by_their_class_and_fields(line: str, expected: str) -> None:
    assert variable(run(CLASSES + line), "x") == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("x = args.fp16", "<args.fp16>"),
        ("x = 'a' if args.fp16 else 'b'", "'a' if args.fp16 | 'b' if not (args.fp16)"),
        ("y = 'a' if args.fp16 else 'b'\nx = y if args.fp16 else 'c'", "'a' if args.fp16 | 'c' if not (args.fp16)"),
        (
            "x = 1\nif args.dtype == 'half':\n    x = 2\nif args.dtype == 'full' and x == 2:\n    x = 3",
            "1 if not (args.dtype == 'half') | 2 if args.dtype == 'half'",
        ),
        ("x = args.dtype == 'other'", "False"),
        ("x = 0\nwhile unheard_of:\n    x += 1", "?"),
        ("x = 0\nwhile True:\n    x = 'in'\n    if unheard_of:\n        break", "'in'"),
    ],
)
def test_branches_join_and_options_keep_their_decisions(lines: str, expected: str) -> None:
    assert variable(run(OPTIONS + lines), "x") == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("x = 1\nif unheard_of:\n    x = 2", {"1", "2"}),
        ("ok = unheard_of > 3\nx = 0\nif ok:\n    y = 1\nif ok:\n    x = y", {"0", "1"}),
        ("x = 0\nfor i in range(1000):\n    x = 'seen'\n    if i > 5:\n        break", {"0", "'seen'"}),
        ("try:\n    x = 1\n    f()\n    x = 2\nexcept ValueError:\n    pass", {"-", "1", "2"}),
        ("def f():\n    if y > 3:\n        return 1\n    return 2\nfor _ in range(99):\n    x = f()", {"-", "1", "2"}),
    ],
)
def test_data_decides_both_ways(lines: str, expected: set[str]) -> None:
    found = atoms(value(run(lines), "x"))
    assert {shown(run(lines), each) for each in found} == expected


REFUSED = "class A:\n    n = 1\ndef f(*given): return f(*given)\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("d = {'a': 1}\nf(d)\nx = d['a']", {"1", "?"}),
        ("a = A()\na.n = 2\nf([a])\nx = a.n", {"2", "?"}),
        ("a = A()\na.n = 2\nf(3)\nx = a.n", {"2"}),
        ("import unheard_of\nd = {'a': 1}\nunheard_of.call(d)\nx = d['a']", {"1"}),
        ("a = A()\na.n = 2\nprint(a)\nx = a.n", {"2"}),
    ],
)
def test_a_call_that_is_not_followed_may_change_what_its_arguments_reach(lines: str, expected: set[str]) -> None:
    """Of the project anything; a library changes only what it models, and `print` nothing."""
    machine = run(REFUSED + lines)
    assert {shown(machine, each) for each in atoms(value(machine, "x"))} == expected


def test_modules_of_the_project_run_once_and_share_their_variables() -> None:
    files = {
        "parts/__init__.py": "from .layers import WIDTH\n",
        "parts/layers.py": "WIDTH = 4\ndef widen():\n    global WIDTH\n    WIDTH = 8\n",
        "cycle.py": "import train\nB = 1\n",
    }
    machine = run(
        "import parts.layers as p\nfrom parts import WIDTH\nimport cycle\np.widen()\nx = (WIDTH, p.WIDTH, cycle.B)",
        files,
    )
    assert variable(machine, "x") == "(4, 8, 1)"


def test_a_parser_keeps_every_option_and_a_namespace_has_no_methods() -> None:
    lines = "import argparse\nparser = argparse.ArgumentParser()\n"
    lines += "".join(f"parser.add_argument('--o{number}')\n" for number in range(70))
    machine = run(f"{lines}args = parser.parse_args()\nx = (args.o3, args.o69, args.other)")
    assert variable(machine, "x") == "(<args.o3>, <args.o69>, <args.other>)"


@pytest.mark.parametrize("several_first", [True, False])
def test_an_address_of_several_objects_stands_for_several_after_a_join(several_first: bool) -> None:
    address, start = Address("site", None), Store()
    start.make(address, {"x": constant(1)})
    one, two = start.fork(), start.fork()
    two.make(address, {"x": constant(1)})
    both = two.joined(one) if several_first else one.joined(two)
    both.write(address, "x", constant(2))
    assert {atom.value for atom in atoms(both.read(address, "x")) if isinstance(atom, Constant)} == {1, 2}
