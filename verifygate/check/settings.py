"""What a configuration comes to for `check`: judged once, and again as soon as anything has changed.

Judging takes pydantic and the models of all settings, which load longer than a small tree takes to analyse. So what
comes of it is kept like an answer, under a key that the configuration, the program and its packages have a part in.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from verifygate.base import answer_store
from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.check import answer_cache
from verifygate.config.locate import lies_in
from verifygate.config.model_files import read_model_files
from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.left_out import Exclusion
from verifygate.sources.tree import Sources

_OF_THE_TREE = ("allowed", "models")
"""What is read anew each time."""


class Judged(NamedTuple):
    """What `check` asks of the settings: what was set, and nothing that the audited tree says by itself."""

    written: RuleSelection = RuleSelection()
    """Which rules run; of versions, those that are set."""
    exclude: tuple[str, ...] = ()
    """Glob patterns of paths to leave out."""
    sources: tuple[str, ...] = ()
    """Files and folders of the project."""
    baseline: str = ""
    """The baseline file."""
    text: str = ""
    """All that the configuration came to, and the models that it names; empty where there is none."""

    @property
    def exclusion(self) -> Exclusion:
        """What is not among the sources: what is to be left out, and models."""
        return Exclusion(self.exclude, models=[each.path for each in self.written.models])


def judged(config: Path, start: Path, *, cached: bool) -> Judged:
    """What a configuration file says; errors name it as a person at `start` would. Raises UsageError.

    What it names is looked for each time: that may have gone.
    """
    root = config.resolve().parent
    contents = contents_of(config)
    key = answer_cache.key_of(["what a configuration comes to", *contents], Sources(())) if cached else ""
    if cached and (kept := answer_store.recall(key)) is not None:
        named = _named(kept.out[0])
        if all(lies_in(root, path) for path in named):
            return _read(kept.out[0], root)
    text = _judge(config, start)
    if cached and contents == contents_of(config):  # it may have been changed meanwhile
        answer_store.keep(key, answer_store.CheckOutput((text,), 0))
    return _read(text, root)


def contents_of(config: Path | None) -> list[str]:
    """What settings come from: the file, by name and bytes. No file is not an empty one."""
    if config is None or not config.is_file():
        return ["none"]
    try:
        data = read_regular(config, MAX_SOURCE_BYTES)
    except OSError:
        return ["unreadable"]  # whoever reads it next says why
    return [f"{config.name}\0{data.decode('latin-1')}"]


def _judge(config: Path, start: Path) -> str:
    from verifygate.config.settings import load
    from verifygate.static.registry import check_rules

    settings = load(config, start)
    check_rules(settings)
    import json

    return json.dumps(
        [
            {name: value for name, value in settings.static.selection._asdict().items() if name not in _OF_THE_TREE},
            settings.static.models,
            settings.project.exclude,
            settings.project.sources,
            settings.verdict.baseline,
            settings.named_paths,
        ]
    )


def _named(text: str) -> list[str]:
    """The paths that the configuration names."""
    import json

    return list(json.loads(text)[-1])


def _read(text: str, root: Path) -> Judged:
    """What was judged, with the models as they are now."""
    import json

    choice, models, exclude, sources, baseline, _ = json.loads(text)
    read = read_model_files(models, root)
    written = RuleSelection(
        tuple(choice["select"]),
        tuple(choice["ignore"]),
        {pattern: tuple(words) for pattern, words in choice["per_file_ignores"].items()},
        choice["torch_version"],
        choice["framework_versions"],
        models=read,
    )
    return Judged(written, tuple(exclude), tuple(sources), baseline, text + repr(read) if read else text)
