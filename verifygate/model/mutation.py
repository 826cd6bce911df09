"""What became of right code that was broken on purpose: who noticed?"""

from __future__ import annotations

from verifygate.model.base import Model


class Sighting(Model):
    """One witness that noticed a mutant."""

    witness: str
    """`static`, `recorder`, `oracle` or `tests`."""
    text: str
    """What it said."""


class Mutant(Model):
    """One way in which the project's AMP code was broken."""

    operator: str
    """For example `drop-unscale`."""
    rule: str
    """The code of the rule that it breaks."""
    title: str
    path: str
    line: int
    """In the unbroken file."""
    symbol: str = ""
    diff: tuple[str, ...] = ()
    """The lines taken out and put in, with `-` and `+`."""
    equivalent: str = ""
    """Why nothing was broken at all, where that is proved."""
    seen: tuple[Sighting, ...] = ()
    asked: tuple[str, ...] = ()
    """The witnesses that were asked, in order."""
    note: str = ""
    """What is known of one that nobody noticed."""

    @property
    def noticed(self) -> bool:
        return bool(self.seen)

    def noticed_by(self, witness: str) -> bool:
        return any(one.witness == witness for one in self.seen)


class MutationReport(Model):
    """All mutants of one run of `--mutate`."""

    everybody: bool
    """Whether every witness was asked about every mutant, and not only until one noticed."""
    witnesses: tuple[str, ...]
    """Those that could be asked."""
    silent: tuple[str, ...] = ()
    """Those that could not, and why."""
    mutants: tuple[Mutant, ...] = ()

    @property
    def broken(self) -> tuple[Mutant, ...]:
        """The mutants that really broke something."""
        return tuple(mutant for mutant in self.mutants if not mutant.equivalent)

    @property
    def unnoticed(self) -> tuple[Mutant, ...]:
        return tuple(mutant for mutant in self.broken if not mutant.noticed)

    @property
    def missed_by_tests(self) -> tuple[Mutant, ...]:
        """The mutants that the project's own tests were asked about, and let pass."""
        asked = (mutant for mutant in self.broken if "tests" in mutant.asked)
        return tuple(mutant for mutant in asked if not mutant.noticed_by("tests"))
