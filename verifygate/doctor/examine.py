"""Ask for everything that a run needs, in the order in which a run would miss it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from verifygate.config.settings import Settings
from verifygate.doctor import project, surroundings
from verifygate.doctor.answer import Answer
from verifygate.execution.collected_tests import chosen_tests, read_config


def examined(settings: Settings, environment: Mapping[str, str]) -> tuple[Answer, ...]:
    """What is there for a run of this project, and what is not. Starts the interpreter, and nothing of the project."""
    return tuple(_answers(settings, environment))


def _answers(settings: Settings, environment: Mapping[str, str]) -> Iterator[Answer]:
    yield project.configuration(settings)
    told, found = project.sources(settings)
    yield told
    yield from project.nested(settings, found)
    config = read_config(settings.root)
    chosen = chosen_tests(settings.execution, settings.root, config)
    yield project.tests(chosen, config, expected=settings.execution.tests)
    yield from project.module_path(settings, config)
    yield project.training(settings, found)
    yield from surroundings.interpreter(
        settings, has_tests=bool(chosen), modules=project.imported(found), path=config.pythonpath
    )
    event, base = surroundings.ci(environment, settings.root)
    yield from surroundings.repository(settings, base)
    yield event
    yield from project.further_stages(settings)
