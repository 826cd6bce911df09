"""The same code has the same findings, whoever asks and whatever it is compared with; facts are the judged tree's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main
from verifygate.language_server.project import Project
from verifygate.sweep.analysis import analysed
from verifygate.sweep.units import Unit

LIGHTNING = """\
import pytorch_lightning as pl


def main(model, data):
    trainer = pl.Trainer(precision="16-mixed", max_epochs=1)
    trainer.fit(model, data)
"""
DEPRECATED = """\
import torch


def evaluate(model, batch):
    with torch.cuda.amp.autocast():
        return model(batch)
"""
CLIPPED = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
CODE = {"fit.py": LIGHTNING, "evaluate.py": DEPRECATED, "loops.py": CLIPPED}
OLD, NEW = "torch>=2.0,<2.4\npytorch-lightning==1.9.5\n", "torch>=2.4\npytorch-lightning>=2.1\n"
OLD_RULES, NEW_RULES = ["AMP201", "AMP612"], ["AMP201", "AMP501"]
POETRY = "[tool.poetry.dependencies]\ntorch = '~2.1'\npytorch-lightning = '1.9.5'\n"
PROJECTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "nothing pinned": ({}, ["AMP201", "AMP501"]),
    "old versions": ({"requirements.txt": OLD}, OLD_RULES),
    "new versions": ({"requirements.txt": NEW}, NEW_RULES),
    "beside a configuration": ({"requirements.txt": OLD, "verifygate.toml": "[verdict]\n"}, OLD_RULES),
    "in the file of the configuration": ({"pyproject.toml": f"{POETRY}[tool.verifygate.verdict]\n"}, OLD_RULES),
    "in an included file": ({"requirements.txt": "-r deps/base.txt\n", "deps/base.txt": OLD}, OLD_RULES),
    "set by the policy": (
        {"requirements.txt": OLD, "verifygate.toml": '[static]\ntorch_version = "2.6"\n'},
        ["AMP201", "AMP501", "AMP612"],
    ),
}

SAID = ("rule", "severity", "certainty", "path", "line")


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith(("GITHUB_", "CI_", "GITLAB_"))]:
        monkeypatch.delenv(name)


def ran(repository: Any, *options: str) -> list[dict[str, Any]]:
    main(["run", "--stage", "static", *options])
    found: list[dict[str, Any]] = repository.report["stages"][0]["findings"]
    return found


def checked(*options: str) -> list[dict[str, Any]]:
    Path("reports").mkdir(exist_ok=True)
    main(["check", "--format", "json", "--output", "reports/check.json", *options])
    found: list[dict[str, Any]] = json.loads(Path("reports/check.json").read_text(encoding="utf-8"))["findings"]
    return found


def in_a_job(repository: Any, base: str) -> list[dict[str, Any]]:
    event = repository.folder / "reports/event.json"
    event.write_text(json.dumps({"merge_group": {"base_sha": base}}), encoding="utf-8")
    os.environ.update(GITHUB_ACTIONS="true", GITHUB_EVENT_NAME="merge_group", GITHUB_EVENT_PATH=str(event))
    try:
        return ran(repository, "--ci")
    finally:
        for name in ("GITHUB_ACTIONS", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH"):
            del os.environ[name]


def in_editor(repository: Any) -> list[dict[str, Any]]:
    return [
        {name: getattr(each, name) for name in SAID} for each in Project(repository.folder).look({}).report.findings
    ]


def merged(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the notes that the others join with a finding at the same place: an editor joins no causes."""
    places = {(each["path"], each["line"]) for each in findings if each["rule"] != "AMP503"}
    return [each for each in findings if each["rule"] != "AMP503" or (each["path"], each["line"]) not in places]


def swept(repository: Any, commit: str, package: str = "") -> list[dict[str, Any]]:
    row, _ = analysed(Unit("a unit", str(repository.folder / package), commit))
    return [each.model_dump(mode="json") for each in row.findings]


def said(findings: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """What is said of the code; that the same cause has further places is how one asker joins them."""
    return {tuple(each[name] for name in SAID) for each in findings}


@pytest.fixture
def started(repository: Any) -> str:
    """The commit before there was any code."""
    repository.git("rm", "-q", "old.py")
    commit: str = repository.commit()
    (repository.folder / "reports").mkdir()
    return commit


@pytest.mark.parametrize("project", PROJECTS)
def test_everybody_says_the_same_of_the_same_code(project: str, repository: Any, started: str):
    """Whether there is a base, and which: the policy is on both sides of the change, the code on one."""
    declared, rules = PROJECTS[project]
    policy = {name: text for name, text in declared.items() if "verifygate" in name + text}
    for name, text in policy.items():
        repository.write(name, text)
    base = repository.commit()
    for name, text in {**CODE, **declared}.items():
        repository.write(name, text)
    head = repository.commit()

    alone = ran(repository)
    assert sorted({each["rule"] for each in alone} - {"AMP503"}) == rules
    told = said(alone)
    assert said(ran(repository, "--since", base)) == told
    assert repository.report["policy_origin"]["differences"] == []
    assert said(ran(repository, "--policy-from", base)) == told
    assert said(in_a_job(repository, base)) == told
    assert said(checked()) == said(checked("--since", base)) == told
    assert said(merged(in_editor(repository))) == told
    if "verifygate.toml" not in policy:  # a sweep reads no configuration
        assert said(swept(repository, "")) == said(swept(repository, head)) == told


def brought(repository: Any) -> tuple[set[str], set[str]]:
    """The rules of what a change brings, as `run` and as `check` see it."""
    main(["run", "--stage", "static", "--since", "main"])
    new = {each["rule"] for each in repository.report["changes"]["new"]}
    return new, {each["rule"] for each in checked("--since", "main")}


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [(NEW, OLD, {"AMP612"}), (OLD, NEW, {"AMP501"}), (OLD, OLD, set()), (OLD, "", {"AMP501"})],
)
def test_a_change_of_versions_answers_for_what_it_breaks(
    before: str, after: str, rules: set[str], repository: Any, started: str
):
    """Each side is judged by its own versions: else the fault of a downgrade would have stood before."""
    for name, text in {**CODE, "requirements.txt": before}.items():
        repository.write(name, text)
    repository.commit()
    repository.git("checkout", "-qb", "change")
    repository.commit(requirements__txt=after, README__md="a note\n")

    run, check = brought(repository)
    assert run - {"AMP503"} == check - {"AMP503"} == rules
    assert repository.report["policy_origin"]["differences"] == []
    assert (repository.report["verdict"] == "BLOCK") is ("AMP612" in rules)
    fixed = [each["rule"] for each in repository.report["changes"]["fixed"]]
    assert fixed == (["AMP612"] if after != before and before == OLD else []) + (["AMP501"] if before == NEW else [])


def test_versions_are_read_through_links_of_a_commit(repository: Any, started: str):
    """A requirements file that is a link says at the base what it says in the tree."""
    for name, text in {**CODE, "deps/train.txt": OLD}.items():
        repository.write(name, text)
    (repository.folder / "requirements.txt").symlink_to("deps/train.txt")
    repository.commit()
    repository.git("checkout", "-qb", "change")
    repository.commit(README__md="a note\n")

    assert brought(repository) == (set(), set())
    assert {"AMP612"} <= {each["rule"] for each in swept(repository, "main")}


VERSIONED = {name: CODE[name] for name in ("fit.py", "evaluate.py")}
MONOREPO = {
    "requirements.txt": NEW,
    **{f"trainer/{name}": text for name, text in VERSIONED.items()},
    "trainer/requirements.txt": "torch>=2.0,<2.4\n-r ../deps/old.txt\n",
    "deps/old.txt": "pytorch-lightning==1.9.5\n",
    **{f"serving/{name}": text for name, text in VERSIONED.items()},
    "serving/setup.py": "from setuptools import setup\n\nsetup(install_requires=['numpy'])\n",
}
OF_PACKAGES = {"trainer": {"AMP612"}, "serving": {"AMP501"}}
"""Package -> the rules that it breaks: one pins its own versions, the other has those of the whole."""


@pytest.mark.parametrize("configured", ["", "trainer", "."])
def test_a_package_of_a_monorepo_is_the_same_from_every_folder(
    configured: str, repository: Any, started: str, monkeypatch: pytest.MonkeyPatch
):
    """Whether the whole is asked about, a package, a file of it, or from within the package; of a tree and a base."""
    if configured:
        repository.write(f"{configured}/verifygate.toml", "[verdict]\n")
    base = repository.commit()
    for name, text in MONOREPO.items():
        repository.write(name, text)
    head = repository.commit()

    whole = of_packages(checked("."))
    assert {name: {each[0] for each in found} for name, found in whole.items()} == OF_PACKAGES
    assert of_packages(checked("--since", base, ".")) == of_packages(ran(repository)) == whole
    assert of_packages(ran(repository, "--since", base)) == whole
    assert of_packages(in_editor(repository)) == whole
    if not configured:
        assert of_packages(swept(repository, "")) == of_packages(swept(repository, head)) == whole
    for name, found in whole.items():
        assert of_packages(checked(name)) == of_packages(checked("--since", base, name)) == {name: found}
        for file in VERSIONED:
            path = f"{name}/{file}"
            assert of_packages(checked(path)).get(name, set()) == {each for each in found if each[3] == path}
        monkeypatch.chdir(repository.folder / name)
        assert of_packages(below(name, json_of_check())) == {name: found}
        if not configured:
            for commit in ("", head):
                assert of_packages(below(name, swept(repository, commit, name))) == {name: found}
        monkeypatch.chdir(repository.folder)


def of_packages(findings: list[dict[str, Any]]) -> dict[str, set[tuple[Any, ...]]]:
    """Package -> what is said of its code, but for AMP503: a note that is told once for all packages."""
    found: dict[str, set[tuple[Any, ...]]] = {}
    for each in (each for each in said(findings) if each[0] != "AMP503"):
        found.setdefault(each[3].partition("/")[0], set()).add(each)
    return found


def below(package: str, findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings of a package with their paths from the root."""
    return [{**each, "path": f"{package}/{each['path']}"} for each in findings]


def json_of_check() -> list[dict[str, Any]]:
    main(["check", "--format", "json", "--output", "out.json"])
    found: list[dict[str, Any]] = json.loads(Path("out.json").read_text(encoding="utf-8"))["findings"]
    return found


def test_a_package_of_a_monorepo_has_its_own_versions_at_the_base(
    repository: Any, started: str, monkeypatch: pytest.MonkeyPatch
):
    for name, text in MONOREPO.items():
        repository.write(name, text)
    repository.commit()
    repository.git("checkout", "-qb", "change")
    repository.commit(README__md="a note\n")

    assert checked("--since", "main", "trainer/fit.py") == checked("--since", "main", "trainer") == []
    assert checked("--since", "main", ".") == []
    monkeypatch.chdir(repository.folder / "trainer")
    assert "AMP612" in {each["rule"] for each in json_of_check()}
    main(["run", "--stage", "static", "--since", "main"])
    report = json.loads(Path("reports/latest/report.json").read_text(encoding="utf-8"))
    assert (report["verdict"], report["changes"]["new"]) == ("PASS", [])


def test_a_silencing_comment_is_no_fault_where_its_rule_has_nothing_to_say(repository: Any, started: str):
    """The rule runs for one package; in the other, which cannot have the new interface yet, its comment waits."""
    silenced = DEPRECATED.replace("autocast():", "autocast():  # verifygate: ignore[AMP501] until torch 2.4")
    for name, text in {**MONOREPO, "trainer/evaluate.py": silenced, "serving/evaluate.py": silenced}.items():
        repository.write(name, text)
    repository.commit()
    assert not {"AMP501", "GATE102"} & {each["rule"] for each in checked(".")}


def test_what_a_project_says_of_itself_is_no_policy(repository: Any):
    """Name, task and version are the change's own; a version of torch that is set by hand is policy."""
    config = '[project]\nname = "trainer"\nversion = "{}"\ntask = "{}"\n[static]\ntorch_version = "{}"\n'
    repository.commit(verifygate__toml=config.format("1.0", "T1", "2.1"))
    repository.git("checkout", "-qb", "change")
    repository.commit(verifygate__toml=config.format("1.1", "T2", "2.1"))
    main(["run", "--stage", "static", "--since", "main"])
    assert (repository.report["version"], repository.report["task"]) == ("1.1", "T2")
    assert repository.report["policy_origin"]["differences"] == []

    repository.commit(verifygate__toml=config.format("1.1", "T2", "2.6"))
    main(["run", "--stage", "static", "--since", "main"])
    assert [each["key"] for each in repository.report["policy_origin"]["differences"]] == ["static.torch_version"]


@pytest.mark.parametrize("renamed", [False, True])
def test_a_copy_is_new_whoever_asks_about_which_file(repository: Any, renamed: bool):
    """Where one file is named, what stands in the others is not gone."""
    text = (repository.folder / "old.py").read_text(encoding="utf-8")
    repository.git("checkout", "-qb", "change")
    if renamed:
        repository.git("mv", "old.py", "loops.py")
    repository.commit(copy__py=text.replace("train", "again"))

    main(["run", "--stage", "static", "--since", "main"])
    assert [each["path"] for each in repository.report["changes"]["new"]] == ["copy.py"]
    assert [each["path"] for each in checked("--since", "main")] == ["copy.py"]
    assert [each["path"] for each in checked("--since", "main", "copy.py")] == ["copy.py"]
