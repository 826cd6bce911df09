"""Records through the real command line: made on a (simulated) device, believed or refused where there is none."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

import verifygate
from verifygate.cli import main
from verifygate.config.performance import RecordsSettings
from verifygate.performance.attestation import acceptance
from verifygate.performance.attestation.figures import figures
from verifygate.performance.comparison import loaded

KeyPair = Callable[..., tuple[bytes, bytes]]
Change = Callable[[dict[str, Any]], object]
RECORD = "reports/records/simulated-gpu.json"
CONFIG = """\
[performance]
workload = "workloads:plugged"
rounds = 3
rounds_max = 3
steps = 2
warmup = 1
train_steps = 3
seeds = [0]

[performance.targets]
speedup = 1.01
memory_reduction = 0.4

[performance.records]
files = ["requirements.txt"]
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulated project with a record that was made on its device; the device is gone again."""
    root = tmp_path_factory.mktemp("measured") / "project"
    shutil.copytree(Path(__file__).parent / "simulated", root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "verifygate.toml").write_text(CONFIG, encoding="utf-8")
    (root / "requirements.txt").write_text("torch\n", encoding="utf-8")
    (root / "cuda").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["bench", "record"]) in (0, 1)  # whether the targets are met is the machine's affair
    (root / "cuda").unlink()
    changed(root, steadied)
    return root


def steadied(document: dict[str, Any]) -> None:
    """Put step times of a machine that nobody disturbs in place of those that were measured."""
    comparison = document["predicate"]["comparison"]
    for arm in comparison["arms"]:
        for block in arm["rounds"]:
            step = 0.002 if arm["name"] in ("fp32", "tf32") else 0.001
            block["seconds"] = [step * (1 + number / 1000) for number in range(len(block["seconds"]))]
    document["predicate"]["figures"] = [each.model_dump() for each in figures(loaded(comparison))]


@pytest.fixture
def project(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the working directory."""
    root = Path(shutil.copytree(measured, tmp_path / "project"))
    monkeypatch.chdir(root)
    return root


def record(root: Path) -> dict[str, Any]:
    return json.loads((root / RECORD).read_text(encoding="utf-8"))


def changed(root: Path, change: Change) -> None:
    """Edit the record as somebody with an editor would."""
    document = record(root)
    change(document)
    (root / RECORD).write_text(json.dumps(document), encoding="utf-8")


def verify(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    """The exit code of `bench verify`, and its last line."""
    capsys.readouterr()
    code = main(["bench", "verify", RECORD, *options])
    return code, capsys.readouterr().out.strip().splitlines()[-1]


def gate(root: Path, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code of the gate's performance stage, and its checks by name."""
    code = main(["run", "--stage", "performance", *options])
    report = json.loads((root / "reports/latest/report.json").read_text(encoding="utf-8"))
    (stage,) = report["stages"]
    return code, {check["id"].removeprefix("performance."): check for check in stage["checks"]}


def commit(root: Path) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a commit"]):
        subprocess.run([*git, *command], check=True)


def test_a_record_is_an_in_toto_statement(project: Path) -> None:
    """Subjects are the closure with what a run imported, and the lock; the predicate keeps every sample."""
    document = record(project)
    schema = Path(verifygate.__file__).parent / "docs/schemas/record.schema.json"
    jsonschema.validate(document, json.loads(schema.read_text(encoding="utf-8")))
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    names = {subject["name"] for subject in document["subject"]}
    assert names == {"workloads.py", "torch.py", "plugin.py", "requirements.txt"}
    fp32, *_ = document["predicate"]["comparison"]["arms"]
    assert [len(block["seconds"]) for block in fp32["rounds"]] == [2, 2, 2]
    assert fp32["host"]["device_name"] == "Simulated GPU"


def test_a_machine_without_the_device_passes_from_the_record(project: Path) -> None:
    """And says where, when and from which record its figures are."""
    code, checks = gate(project)
    assert code == 0
    day = record(project)["predicate"]["finished"][:10]
    for name in ("speedup", "memory-reduction"):
        assert checks[name]["status"] == "PASS"
        (evidence,) = checks[name]["evidence"]
        assert evidence["kind"] == "measured"
        assert evidence["path"] == RECORD
        assert evidence["summary"].startswith(f"measured on Simulated GPU on {day}")
    assert checks["records"]["status"] == "PASS"


@pytest.mark.parametrize("name", ["workloads.py", "plugin.py", "requirements.txt"])
def test_an_edited_file_makes_it_not_measured_and_is_named(project: Path, name: str) -> None:
    """Of the source, of what only a run knows, or of the lock: the verdict names the file."""
    with (project / name).open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    code, checks = gate(project)
    assert code == 1
    assert checks["speedup"]["status"] == "NOT MEASURED"
    assert f"files are not what was measured: {name} (changed)" in checks["speedup"]["actual"]
    assert "verifygate bench record" in checks["speedup"]["remedy"]


def test_files_that_came_or_went_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A module that Python would import first is part of the workload from the day it is there."""
    (project / "sitecustomize.py").touch()
    (project / "plugin.py").unlink()
    code, told = verify(capsys)
    assert code == 1
    assert told.endswith("files are not what was measured: plugin.py (gone), sitecustomize.py (new)")


def shifted(document: dict[str, Any], days: float) -> None:
    predicate = document["predicate"]
    for name in ("started", "finished"):
        predicate[name] = (dt.datetime.fromisoformat(predicate[name]) + dt.timedelta(days=days)).isoformat()


def made_up(document: dict[str, Any]) -> None:
    figures = document["predicate"]["figures"]
    next(each for each in figures if each["id"] == "speedup.bf16")["value"] = 9.9


def slowed(document: dict[str, Any]) -> None:
    document["predicate"]["comparison"]["arms"][0]["rounds"][0]["seconds"][0] *= 100


def outside(document: dict[str, Any]) -> None:
    document["subject"].append({"name": "../../etc/passwd", "digest": {"sha256": "0" * 64}})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda document: shifted(document, 1), "it is dated in the future: "),
        (lambda document: shifted(document, -91), "it is older than 90 days: "),
        (lambda document: document["predicate"].update(finished="1970-01-01T00:00:00Z"), "it ended before it began"),
        (lambda document: document["predicate"]["comparison"].update(protocol=0), "measured by protocol 0"),
        (lambda document: document["predicate"]["comparison"]["plan"].update(steps=4), "steps 4 there, 2 here"),
        (lambda document: document["predicate"]["comparison"].update(arms=[]), "at least two arms"),
        (lambda document: document["predicate"].update(figures=[]), "its summary does not follow from its samples: "),
        (made_up, "its summary does not follow from its samples: speedup.bf16"),
        (slowed, "its summary does not follow from its samples: speedup.bf16, speedup.fp16, speedup.tf32"),
        (outside, "../../etc/passwd (gone)"),
    ],
)  # fmt: skip
def test_what_a_record_must_not_be(
    project: Path, capsys: pytest.CaptureFixture[str], change: Change, told: str
) -> None:
    """Each is refused with its reason, and counts for nothing."""
    changed(project, change)
    code, line = verify(capsys)
    assert code == 1
    assert told in line


@pytest.mark.parametrize("hour", [0, 12, 23])
def test_a_record_lasts_to_the_end_of_a_day(hour: int) -> None:
    """Whether it is believed does not change within a day: a result that rests on it is kept to the end of one."""
    made = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    predicate = SimpleNamespace(started=made, finished=made)
    last = dt.datetime(2026, 1, 11, hour, 30, tzinfo=dt.UTC)
    asked = [
        SimpleNamespace(now=now, records=RecordsSettings(max_age_days=10)) for now in (last, last + dt.timedelta(1))
    ]
    told = [acceptance._wrong_time(predicate, each) for each in asked]  # type: ignore[arg-type]
    assert told == [[], ["it is older than 10 days: 2026-01-01 12:00 UTC"]]


def test_clocks_may_differ_by_minutes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two machines never agree to the second."""
    changed(project, lambda document: shifted(document, 4 / 24 / 60))
    assert verify(capsys)[0] == 0


def test_a_record_that_contradicts_itself_blocks(project: Path) -> None:
    """No honest record does: that is a failed check, not only a missing measurement."""
    changed(project, made_up)
    code, checks = gate(project)
    assert code == 1
    assert checks["records"]["status"] == "FAIL"
    assert checks["speedup"]["status"] == "NOT MEASURED"


def test_the_device_can_be_prescribed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By a pattern of its name."""
    config = project / "verifygate.toml"
    config.write_text(CONFIG + 'device = "NVIDIA H100*"\n', encoding="utf-8")
    assert "measured on Simulated GPU, and the settings ask for `NVIDIA H100*`" in verify(capsys)[1]
    config.write_text(CONFIG + 'device = "Simulated*"\n', encoding="utf-8")
    assert verify(capsys)[0] == 0


def test_targets_are_those_of_today(project: Path) -> None:
    """A record holds samples, no verdict: a higher target is judged by the old samples, and missed."""
    config = CONFIG.replace("memory_reduction = 0.4", "memory_reduction = 0.9")
    (project / "verifygate.toml").write_text(config, encoding="utf-8")
    code, checks = gate(project)
    assert code == 1
    assert checks["memory-reduction"]["status"] == "FAIL"
    assert checks["records"]["status"] == "PASS"


def test_a_change_cannot_bring_its_own_record(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not signed, it counts where it is the one that stood at the base, byte for byte."""
    commit(project)
    assert verify(capsys, "--since", "HEAD")[0] == 0
    changed(project, lambda document: document["predicate"].update(nonce="another"))
    assert verify(capsys)[0] == 0
    code, told = verify(capsys, "--since", "HEAD")
    assert code == 1
    assert "comes with the change itself" in told
    for options in (["--since", "HEAD"], ["--policy-from", "HEAD"], ["--since", "HEAD", "--accept-policy"]):
        assert gate(project, *options)[1]["speedup"]["status"] == "NOT MEASURED"


def signed_project(project: Path, key_pair: KeyPair) -> tuple[bytes, bytes]:
    """Have the settings ask for signatures of a new key; the record is still unsigned."""
    private, public = key_pair()
    (project / "bench.pub").write_bytes(public)
    (project / "verifygate.toml").write_text(CONFIG + 'public_key = "bench.pub"\n', encoding="utf-8")
    return private, public


def sign(project: Path, private: bytes) -> None:
    """What `bench record --key` does with a measurement."""
    from verifygate.attestation.envelope import signed

    (project / RECORD).write_bytes(signed((project / RECORD).read_bytes(), private, "key"))


def test_with_a_key_only_signed_records_count(
    project: Path, key_pair: KeyPair, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unsigned one does not, nor one of another key; a signed one that was changed is a forgery."""
    private, _ = signed_project(project, key_pair)
    assert "it is not signed" in verify(capsys)[1]
    plain = (project / RECORD).read_bytes()
    sign(project, key_pair()[0])
    assert "not signed with the key in the settings" in verify(capsys)[1]
    (project / RECORD).write_bytes(plain)
    sign(project, private)
    code, told = verify(capsys)
    assert code == 0
    assert told.endswith("signature verified")
    changed(project, lambda document: document.update(payload=document["payload"][:-8] + "AAAAAAA="))
    assert gate(project)[1]["records"]["status"] == "FAIL"


def test_a_change_may_bring_a_record_that_the_key_at_its_base_vouches_for(
    project: Path, key_pair: KeyPair, capsys: pytest.CaptureFixture[str]
) -> None:
    """The key is the base's: one that the change puts in its place vouches for nothing."""
    private, _ = signed_project(project, key_pair)
    unsigned = (project / RECORD).read_bytes()
    (project / RECORD).unlink()
    commit(project)
    (project / RECORD).write_bytes(unsigned)
    sign(project, private)
    assert verify(capsys, "--since", "HEAD")[0] == 0
    stranger, public = key_pair()
    (project / "bench.pub").write_bytes(public)
    (project / RECORD).write_bytes(unsigned)
    sign(project, stranger)
    assert verify(capsys)[0] == 0
    assert verify(capsys, "--since", "HEAD")[0] == 1


def test_record_signs_with_a_key_file(project: Path, key_pair: KeyPair, capsys: pytest.CaptureFixture[str]) -> None:
    """From the measurement to the signature in one command."""
    private, _ = signed_project(project, key_pair)
    (project / "secret.pem").write_bytes(private)
    (project / "cuda").touch()
    assert main(["bench", "record", "--key", "secret.pem", "-o", RECORD]) in (0, 1)
    (project / "cuda").unlink()
    code, told = verify(capsys)
    assert code == 0
    assert told.endswith("signature verified")
    assert main(["bench", "record", "--key", "bench.pub"]) == 2


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 2),
        ("[]", 2),
        ("{" * 100_000, 2),
        ('{"a": 1, "a": 2}', 2),
        ('{"a": NaN}', 2),
        ('{"_type": "https://in-toto.io/Statement/v1"}', 2),
        ('{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": []}', 2),
        ('{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"}', 1),
    ],
)
def test_what_is_no_record(project: Path, capsys: pytest.CaptureFixture[str], text: str, code: int) -> None:
    """Is unreadable input to `bench verify`, a refusal to the gate, and never a traceback."""
    (project / RECORD).write_text(text, encoding="utf-8")
    assert main(["bench", "verify", RECORD]) == code
    streams = capsys.readouterr()
    assert len((streams.out + streams.err).strip().splitlines()) == 1
    assert gate(project)[1]["speedup"]["status"] == "NOT MEASURED"


def test_verify_as_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The list of files is a list."""
    (project / "plugin.py").write_text("", encoding="utf-8")
    assert main(["bench", "verify", RECORD, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["accepted"] is False
    assert document["changed"] == ["plugin.py (changed)"]


def test_run_prints_a_table_and_what_is_missing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the device the targets are not measured: exit code 1, and the command that would measure them."""
    assert main(["bench", "run"]) == 1
    out = capsys.readouterr().out
    assert "Speed-up of bf16 over fp32 on the CPU" in out
    assert "NOT MEASURED: Speed-up of bf16 over fp32: there is no accelerator" in out
    assert "`verifygate bench record` on a machine with a CUDA device" in out
    assert main(["bench", "run", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["stage"] == "performance"


def test_nothing_that_could_not_be_measured_is_recorded(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A broken workload leaves no record; no workload at all is wrong usage."""
    config = project / "verifygate.toml"
    config.write_text(CONFIG.replace("plugged", "raises"), encoding="utf-8")
    assert main(["bench", "record", "-o", "new.json"]) == 1
    assert not (project / "new.json").exists()
    config.write_text("", encoding="utf-8")
    assert main(["bench", "record"]) == 2
    assert "performance.workload" in capsys.readouterr().err


def test_a_file_that_changes_while_it_is_measured(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody could say what was measured, so nothing is written."""
    with (project / "workloads.py").open("a", encoding="utf-8") as file:
        file.write("\n\nwith open(__file__, 'a') as own:\n    own.write('# and again')\n")
    assert main(["bench", "record", "-o", "new.json"]) == 2
    assert "workloads.py: it changed during the measurement" in capsys.readouterr().err
    assert not (project / "new.json").exists()


def test_without_the_statistics_nothing_is_judged(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said before anything is measured; an honest record is not called a forgery for want of a library."""
    monkeypatch.setattr("verifygate.performance.intervals.missing_library", lambda: "judging needs scipy")
    for command in (["run"], ["record"], ["verify", RECORD]):
        assert main(["bench", *command]) == 2
        assert capsys.readouterr().err == "verifygate: error: judging needs scipy\n"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # logs that submitit leaves open
def test_a_job_of_the_cluster_measures(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command, the same record: only the measurement runs elsewhere."""
    config = CONFIG + '\n[performance.cluster]\nexecutor = "local"\nparameters = { timeout_min = 5 }\n'
    (project / "verifygate.toml").write_text(config, encoding="utf-8")
    (project / "cuda").touch()
    assert main(["bench", "record", "-o", RECORD]) in (0, 1)
    (project / "cuda").unlink()
    assert verify(capsys)[0] == 0
    assert list((project / ".verifygate/jobs").glob("*_log.out"))
    (project / "verifygate.toml").write_text(config.replace("timeout_min", "colour"), encoding="utf-8")
    assert main(["bench", "run"]) == 2
    assert "verifygate.toml:" in capsys.readouterr().err
