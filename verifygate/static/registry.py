"""Find the rules: every module below `rules/` is one. A rule that cannot be loaded stops the gate."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from verifygate.base.errors import UsageError, VerifygateError
from verifygate.config.rule_selection import is_selected, names_rule
from verifygate.config.version_pins import VersionRange
from verifygate.static import rules
from verifygate.static.rule import LoadedRule, Rule

if TYPE_CHECKING:
    from verifygate.config.settings import Settings


@cache
def load_rules() -> dict[str, LoadedRule]:
    """Code -> rule, in order of code. Raises VerifygateError for a module that is no rule, or a code used twice."""
    found: dict[str, LoadedRule] = {}
    for name in _modules(Path(rules.__path__[0])):
        module = importlib.import_module(name)
        record, check = getattr(module, "RULE", None), getattr(module, "check", None)
        if not isinstance(record, Rule) or not callable(check) or not module.__doc__:
            raise VerifygateError(f"{name} is not a rule: it needs a docstring, RULE and check()")
        if record.code in found:
            raise VerifygateError(f"{name} and {found[record.code].module} both claim {record.code}")
        looks_beside = getattr(module, "looks_beside", None)
        found[record.code] = LoadedRule(record, check, module.__doc__, name, looks_beside)
    return dict(sorted(found.items()))


def _modules(folder: Path) -> list[str]:
    """The names of the modules in the families of rules."""
    return sorted(
        f"{rules.__name__}.{family.name}.{file.stem}"
        for family in folder.iterdir()
        if family.is_dir()
        for file in family.iterdir()
        if file.suffix == ".py" and file.stem != "__init__"
    )


def find_rule(text: str) -> LoadedRule:
    """The rule with this code or name. Raises UsageError, with the nearest spelling."""
    known = load_rules()
    for loaded in known.values():
        if text.lower() in (loaded.rule.code.lower(), loaded.rule.name):
            return loaded
    import difflib

    names = [*known, *(loaded.rule.name for loaded in known.values())]
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else "`verifygate rules` lists them"
    raise UsageError(f"no rule `{text}`", remedy=hint)


def chosen(select: Iterable[str], ignore: Iterable[str]) -> dict[str, LoadedRule]:
    """The rules that `select` leaves (all, where it is empty) and `ignore` does not take: codes, names or families.

    Raises UsageError for a word that is none of these, and where nothing is left.
    """
    selected, ignored = tuple(select), tuple(ignore)
    refuse_unknown((*selected, *ignored))
    left = {
        code: loaded for code, loaded in load_rules().items() if is_selected(code, loaded.rule.name, selected, ignored)
    }
    if not left:
        raise UsageError("no rule is left to run", remedy="widen what is selected, or narrow what is ignored")
    return left


def check_rules(settings: Settings) -> None:
    """Refuse names of rules that there are not. Raises UsageError with the line of the configuration."""
    static = settings.static
    named: dict[tuple[str, ...], tuple[str, ...]] = {("select",): static.select, ("ignore",): static.ignore}
    named |= {("per_file_ignores", pattern): codes for pattern, codes in static.per_file_ignores.items()}
    for where, words in named.items():
        try:
            refuse_unknown(words)
        except UsageError as error:
            raise UsageError(error.problem, where=settings.place("static", *where), remedy=error.remedy) from None


def too_new(loaded: LoadedRule, torch_version: str) -> bool:
    """Whether a rule asks for what none of these torch versions has yet."""
    return bool(loaded.rule.torch and torch_version) and not VersionRange.of(torch_version).reaches(loaded.rule.torch)


def refuse_unknown(words: Iterable[str]) -> None:
    """Raises UsageError for a word that names no rule and no family of rules."""
    for word in words:
        if not any(names_rule(word, code, loaded.rule.name) for code, loaded in load_rules().items()):
            find_rule(word)
