"""What `self.attribute` is in a method, where classes below its own bind the attribute anew."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.conditions.purity import question
from verifygate.static.values.class_hierarchy import MOST
from verifygate.static.values.domain import Literal, Object

BASE = """
class Base:
    word = "base"

    def use(self):
        return self.word

"""
HALF = 'class Half(Base):\n    word = "half"\n\n'


def read_in(analysis: Analysis, method: str = "Base.use") -> set[object]:
    """The constants that what a method returns can be; `...` among them where it may be anything."""
    (module,) = analysis.modules
    function = module.functions[method]
    values = analysis.evaluator.values(function.returns[0], analysis.evaluator.root_frame(function))
    return {each.value if isinstance(each, Literal) else ... for each in values}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("Base()", {"base"}),
        (f"{HALF}Half()", {"half"}),  # nothing makes an object of Base itself
        (f"{HALF}Half()\nBase()", {"half", "base"}),
        (f"{HALF}(Half if wide else Base)()", {"half", "base"}),
        (HALF, {"half", "base"}),  # whoever imports them makes the objects
        (f"{HALF}class Other(Base): pass\nHalf(), Other()", {"half", "base"}),  # Other has the word of Base
        (f"{HALF}class Quarter(Half): pass\nQuarter()", {"half"}),
        (f'{HALF}class Quarter(Half):\n    word = "quarter"\nQuarter()', {"quarter"}),
        (f'class Mixed:\n    word = "mixed"\n{HALF}class Both(Mixed, Base): pass\nBoth(), Half()', {"half", "mixed"}),
        ('class Half(Base):\n    def __init__(self): self.word = "half"\nHalf()', {"half", "base"}),
        ('class Half(Base):\n    @property\n    def word(self): return "half"\nHalf()', {"half"}),
        ("class Half(Base):\n    def __init__(self, word): self.word = word\nHalf(open(0))", {"base", ...}),
        (f"{HALF}Half()\nCLASSES = {{'base': Base}}", {"half", "base"}),
        (f"{HALF}Half()\nmake('trainers.Base')", {"half", "base"}),  # by its name
        (f"{HALF}Half()\n# a Base has a word", {"half"}),
    ],
)
def test_an_attribute_that_classes_below_bind(
    program: str, expected: set[object], analysed: Callable[[str], Analysis]
) -> None:
    assert read_in(analysed(f"{BASE}{program}\n")) == expected


@pytest.mark.parametrize("how", ["@register\nclass Base:", "class Base(metaclass=Registry):"])
def test_a_class_that_registers_itself_may_have_objects(how: str, analysed: Callable[[str], Analysis]) -> None:
    assert read_in(analysed(f"{BASE.replace('class Base:', how)}{HALF}Half()\n")) == {"half", "base"}


@pytest.mark.parametrize(
    ("overriding", "expected"),
    [("return 1", {"base"}), ("return super().use()", {"base", "half"}), ("return Base.use(self)", {"base", "half"})],
)
def test_self_in_a_method_is_no_object_of_a_class_that_overrides_it(
    overriding: str, expected: set[object], analysed: Callable[[str], Analysis]
) -> None:
    half = f"{HALF}    def use(self):\n        {overriding}\n\n"
    assert read_in(analysed(f"{BASE}{half}Half()\nBase()\n")) == expected


def test_the_body_of_a_nearer_class_hides_that_of_a_farther_one(analysed: Callable[[str], Analysis]) -> None:
    below = "    def mine(self):\n        return self.word\n"
    assert read_in(analysed(f"{BASE}{HALF}{below}"), "Half.mine") == {"half"}
    under_a_condition = HALF.replace("    word", "    if wide:\n        word")
    assert read_in(analysed(f"{BASE}{under_a_condition}{below}"), "Half.mine") == {"half", "base"}


def test_of_too_many_classes_the_others_are_unknown(analysed: Callable[[str], Analysis]) -> None:
    many = "".join(f'class A{each}(Base):\n    word = "{each}"\n\n' for each in range(MOST))
    assert read_in(analysed(BASE + many)) == {..., "base", *map(str, range(MOST - 1))}


def test_an_object_made_in_sight_is_of_its_class_alone(analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(f"{BASE}{HALF}Half()\nmade = Base()\nmade.use()\n")
    (module,) = analysis.modules
    frame = analysis.evaluator.module_frame(module)
    asked = ast.parse("made.word", mode="eval").body
    assert analysis.evaluator.values(asked, frame) == (Literal("base"),)
    assert isinstance(asked, ast.Attribute)
    (this,) = analysis.evaluator.values(asked.value, frame)
    assert isinstance(this, Object)
    assert len(list(analysis.evaluator.hierarchy.bindings(this, asked, frame))) == 1


METHOD = """
class Base:
    def word(self):
        return "base"

    def use(self):
        return self.word()

"""
BELOW = 'class Half(Base):\n    def word(self): return "half"\n\n'


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("Base()", {"base"}),
        (f"{BELOW}Half()", {"half"}),
        (f"{BELOW}(Half if wide else Base)()", {"half", "base"}),
        (f"{BELOW}class Other(Base): pass\nHalf(), Other()", {"half", "base"}),
        (f"{BELOW}class Quarter(Half): pass\nQuarter()", {"half"}),
        ("class Half(Base):\n    def word(self): return super().word()\nHalf()", {"base"}),
        ("class Half(Base):\n    def word(self): return open(0)\nHalf()", {...}),
    ],
)
def test_a_method_that_classes_below_override(
    program: str, expected: set[object], analysed: Callable[[str], Analysis]
) -> None:
    assert read_in(analysed(f"{METHOD}{program}\n")) == expected


def test_a_question_that_classes_below_answer_otherwise_is_open(analysed: Callable[[str], Analysis]) -> None:
    (module,) = (analysis := analysed(f"{METHOD}{BELOW}Half(), Base()\n")).modules
    frame = analysis.evaluator.root_frame(module.functions["Base.use"])
    (call,) = module.functions["Base.use"].returns
    assert question(call, frame, analysis.roles) is None
    assert analysis.evaluator.truth(ast.parse('self.word() == "half"', mode="eval").body, frame) is None
