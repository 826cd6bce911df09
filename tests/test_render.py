"""`verifygate render`: every format of a stored report, the same bytes as the run wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.model import Report
from verifygate.report.formats import files_of, run_formats

SOURCE = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in a folder of its repository, with every format of one run."""
    top = tmp_path_factory.mktemp("repository")
    (top / ".git").mkdir()
    project = top / "services" / "my trainer"
    project.mkdir(parents=True)
    (project / "train.py").write_text(SOURCE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        assert main(["run", "--stage", "static", "--format", ",".join(run_formats())]) == 1
    return project


def read(folder: Path, name: str) -> str:
    return (folder / name).read_bytes().decode()


@pytest.mark.parametrize("name", run_formats())
def test_it_equals_what_the_run_wrote(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """On standard output, and in a file or folder beside the report."""
    monkeypatch.chdir(root)
    written = root / "reports" / "latest"
    out = root / "reports" / name
    several = len(files_of(name)) > 1
    stored = str(written / "report.json")
    if not several:
        assert main(["render", stored, "--format", name]) == 0
        assert capsys.readouterr().out == read(written, files_of(name)[0])
    target = out if several else out / files_of(name)[0]
    assert main(["render", stored, "--format", name, "--output", str(target)]) == 0
    made = sorted(file.name for file in out.iterdir())
    assert made == [each for each in sorted(files_of(name)) if (written / each).exists()]
    assert [read(out, each) for each in made] == [read(written, each) for each in made]


def test_links_lead_to_the_project_from_elsewhere(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A page that is written to another folder links the same files."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "out" / "page.html"
    assert main(["render", str(root / "reports/latest/report.json"), "--format", "html", "--output", str(page)]) == 0
    (address,) = {part.partition('"')[0] for part in page.read_text().split('href="') if "train.py#L8" in part[:200]}
    assert (page.parent / address.partition("#")[0].replace("%20", " ")).resolve() == root / "train.py"


def test_a_report_in_a_folder_names_files_from_the_git_root(root: Path) -> None:
    """The run itself found out where its project lies."""
    report = Report.from_json(read(root / "reports/latest", "report.json"))
    assert report.provenance.folder == "services/my trainer"
    (issue,) = json.loads(read(root / "reports/latest", "gitlab.json"))
    assert issue["location"]["path"] == "services/my trainer/train.py"


def changed(root: Path, tmp_path: Path, **fields: object) -> Path:
    document = json.loads(read(root / "reports/latest", "report.json"))
    file = tmp_path / "report.json"
    file.write_text(json.dumps(document | fields), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"schema_version": 2}, "a report of schema version 2; this verifygate reads version 1"),
        ({"schema_version": "x\ny"}, "a report of schema version x y; this verifygate reads version 1"),
        ({"schema_version": None}, "a report of schema version None"),
        ({"surprise": 1}, "not a report of this schema"),
        ({"project": "another"}, "it was edited after it was written"),
    ],
)
def test_what_cannot_be_rendered(
    fields: dict[str, object], told: str, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says why, and exit code 2."""
    assert main(["render", str(changed(root, tmp_path, **fields)), "--format", "sarif"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert told in captured.err


def test_outputs_that_cannot_be(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several files need a folder, one file is none, and no folder of somebody else is replaced."""
    stored = str(root / "reports/latest/report.json")
    assert main(["render", stored]) == 2
    assert "name a folder for them" in capsys.readouterr().err
    assert main(["render", stored, "--format", "sarif", "--output", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(["render", stored, "--format", "md", "--output", str(tmp_path)]) == 2
    assert "notes.txt" in capsys.readouterr().err
    assert main(["render", stored, "--format", "sarif", "--output", str(tmp_path / "notes.txt" / "x")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["render", str(tmp_path / "absent.json"), "--format", "sarif"]) == 2
