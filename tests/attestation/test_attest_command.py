"""`verifygate evidence attest`: what is written, and every way in which a consumer refuses it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judged_repository import CONFIG, FAULTY, Judged

from verifygate.attestation import envelope
from verifygate.attestation.acceptance import Asked, examined
from verifygate.attestation.predicates import PredicateType
from verifygate.cli import main

Keys = Callable[..., tuple[Path, Path]]
OUT = Path("reports/report.intoto.jsonl")
FIELDS = st.sampled_from(["_type", "subject", "predicateType", "predicate", "more"])
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just({"result": "WARNED"}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture
def signed(judged: Judged, keys: Keys) -> tuple[Path, Path]:
    """A PASS, attested; the keys."""
    assert judged.run() == 0
    made = keys()
    write(judged, made[0])
    return made


def write(judged: Judged, private: Path, *options: str) -> None:
    assert (
        main(["evidence", "attest", "write", str(judged.report), "--key", str(private), "--output", str(OUT), *options])
        == 0
    )


def verify(capsys: pytest.CaptureFixture[str], public: Path, *options: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["evidence", "attest", "verify", str(OUT), "--key", str(public), *options])
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count("\n") == 1
    return code, captured.out + captured.err


def statements(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_pass_is_accepted(judged: Judged, signed: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """About the commit by revision or by name, about the report, with the configuration and its properties."""
    head = judged.git("rev-parse", "HEAD")
    for options in (["--commit", "HEAD"], ["--commit", head], ["--report", str(judged.report)]):
        code, told = verify(capsys, signed[1], *options)
        assert (code, "accepted: PASS" in told) == (0, True), told
    asked = ["--commit", head, "--config", "verifygate.toml", "--property", "VERIFYGATE_STAGE_STATIC"]
    assert verify(capsys, signed[1], *asked)[0] == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--commit", "0" * 40], "about another commit"),
        (["--report", "train.py"], "about another report"),
        (["--commit", "HEAD", "--config", "train.py"], "not given by this `train.py`"),
        (["--commit", "HEAD", "--property", "VERIFYGATE_ALL_STAGES"], "property VERIFYGATE_ALL_STAGES"),
    ],
)
def test_another_subject_configuration_or_property_is_refused(
    signed: tuple[Path, Path], options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and what is missing."""
    code, said = verify(capsys, signed[1], *options)
    assert (code, "refused" in said, told in said) == (1, True, True), said


def test_a_block_is_refused_also_in_advisory_mode(
    judged: Judged, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run ends with exit code 0 then; the attestation still does not say PASS."""
    private, public = keys()
    judged.commit(train__py=FAULTY)
    assert judged.run() == 1
    write(judged, private)
    assert "it says FAILED: static.AMP201" in verify(capsys, public, "--commit", "HEAD")[1]
    judged.commit(verifygate__toml=CONFIG + "[verdict]\nadvisory_until = 2099-01-01\n")
    assert judged.run() == 0
    write(judged, private)
    code, told = verify(capsys, public, "--commit", "HEAD")
    assert (code, "it says WARNED: static.AMP201" in told) == (1, True), told
    write(judged, private, "--predicate", "svr")
    assert "does not have the property VERIFYGATE_PASS" in verify(capsys, public, "--commit", "HEAD")[1]


def test_a_tree_with_changes_vouches_for_no_commit(
    judged: Judged, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report itself can be asked for, and says WARNED."""
    private, public = keys()
    (judged.folder / "train.py").write_text("VALUE = 1\n" + (judged.folder / "train.py").read_text())
    assert judged.run() == 0
    write(judged, private)
    assert "about another commit" in verify(capsys, public, "--commit", "HEAD")[1]
    code, told = verify(capsys, public, "--report", str(judged.report))
    assert (code, "it says WARNED" in told) == (1, True), told


def test_tests_that_are_in_no_commit_vouch_for_none(
    judged: Judged, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are not among the sources, but the verdict rests on them; where none are run they do not matter."""
    private, public = keys()
    passing = "def test_one():\n    assert True\n"
    (judged.folder / "tests").mkdir()
    judged.commit(**{"tests/test_one__py": passing})
    (judged.folder / "tests/test_one.py").write_text(passing.replace("True", "1"), encoding="utf-8")
    for stage, code in (("execution", 1), ("static", 0)):
        judged.run("--stage", stage)
        write(judged, private)
        assert verify(capsys, public, "--commit", "HEAD")[0] == code, stage


def test_keys_and_payloads_of_others_are_refused(
    judged: Judged, signed: tuple[Path, Path], keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another key, a payload that was changed, no signature at all."""
    assert "not signed with the key that was given" in verify(capsys, keys("other")[1], "--commit", "HEAD")[1]
    lines = [json.loads(line) for line in OUT.read_text().splitlines()]
    for line in lines:
        line["payload"] = base64.b64encode(
            base64.b64decode(line["payload"]).replace(b"report.json", b"other.json!")
        ).decode()
    OUT.write_text("\n".join(map(json.dumps, lines)))
    code, told = verify(capsys, signed[1], "--commit", "HEAD")
    assert (code, told.count("changed after it was signed")) == (1, 2)
    assert main(["evidence", "attest", "write", str(judged.report), "--output", str(OUT)]) == 0
    assert "not a signed envelope" in verify(capsys, signed[1], "--commit", "HEAD")[1]


def test_one_bad_word_of_the_key_refuses(signed: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """A bundle with a PASS and a FAILED of one commit, in any order, or a PASS that names what failed.

    Lines that are nothing known are passed over.
    """
    good = OUT.read_text()
    OUT.write_text("noise\n{}\n" + good)
    code, said = verify(capsys, signed[1], "--commit", "HEAD")
    assert (code, "not counted: line 1: not a signed envelope; line 2" in said) == (0, True)
    for change, told in (
        ({"result": "FAILED"}, "it says FAILED"),
        ({"failedTests": ["static.AMP201"]}, "it says PASSED, and names what failed: static.AMP201"),
    ):
        statement = json.loads(base64.b64decode(json.loads(good.splitlines()[0])["payload"]))
        statement["predicate"] |= change
        bad = envelope.signed(json.dumps(statement).encode(), signed[0].read_bytes(), "key", indent=None).decode()
        for text in (good + bad, bad + good):
            OUT.write_text(text)
            code, said = verify(capsys, signed[1], "--commit", "HEAD")
            assert (code, told in said) == (1, True), said


def test_under_since_the_policy_is_that_of_the_base(
    judged: Judged, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    """The digest of the configuration is that of the base's, not of the one that the change brings."""
    private, public = keys()
    base = judged.git("rev-parse", "HEAD")
    before = judged.folder.parent / "before.toml"
    before.write_text(CONFIG, encoding="utf-8")
    judged.commit(verifygate__toml=CONFIG + '[static]\nignore = ["AMP201"]\n')
    assert judged.run("--since", base) == 0
    write(judged, private)
    asked = ["--commit", "HEAD", "--property", "VERIFYGATE_POLICY_OF_BASE", "--config"]
    assert verify(capsys, public, *asked, str(before))[0] == 0
    assert verify(capsys, public, *asked, "verifygate.toml")[0] == 1
    assert main(["evidence", "attest", "write", str(judged.report), "--predicate", "test-result"]) == 0
    (said,) = statements(capsys.readouterr().out)
    configuration = {each["name"]: each["digest"] for each in said["predicate"]["configuration"]}
    assert configuration["verifygate:base"] == {"gitCommit": base}


@settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200), document=DOCUMENTS, changes=st.dictionaries(FIELDS, DOCUMENTS, max_size=3))
def test_nothing_that_a_file_holds_raises_or_passes(
    keys: Keys, data: bytes, document: Any, changes: dict[str, Any]
) -> None:
    """Bytes, JSON, and statements of the key with fields of any kind: refused in words, a line each."""
    private, public = (key.read_bytes() for key in keys())
    asked = Asked(public, commit="c" * 40)
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"gitCommit": "c" * 40}}],
        "predicateType": PredicateType.TEST_RESULT.uri,
        "predicate": {"result": "FAILED"},
    }
    payloads = [json.dumps(each).encode() for each in (document, statement | changes)]
    signed = [envelope.signed(each, private, "key", indent=None) for each in payloads]
    for text in (data, json.dumps(document).encode(), *signed, b"".join(signed)):
        refusals = examined(text, asked).refusals
        assert refusals
        assert all(each and "\n" not in each for each in refusals)


def test_without_the_repository_the_files_are_left_out(
    judged: Judged, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Elsewhere only what the report itself holds is stated; --root names the repository."""
    judged.run()
    copy = tmp_path / "elsewhere" / "report.json"
    copy.parent.mkdir()
    copy.write_bytes(judged.report.read_bytes())
    for options, names in (
        ([], ["verifygate:settings"]),
        (["--root", str(judged.folder)], ["verifygate.toml", "verifygate:settings"]),
    ):
        capsys.readouterr()
        assert main(["evidence", "attest", "write", str(copy), "--predicate", "test-result", *options]) == 0
        (said,) = statements(capsys.readouterr().out)
        assert [each["name"] for each in said["predicate"]["configuration"]] == names


def test_what_cannot_be_attested(judged: Judged, keys: Keys, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and exit code 2: an edited report, a key that is none, a question about nothing."""
    private, public = keys()
    judged.run()
    commands = {
        ("write", str(judged.report), "--key", "absent.pem"): "absent.pem: cannot be read",
        ("write", str(judged.report), "--key", str(public)): "cannot sign with this key",
        ("verify", str(judged.report), "--key", str(public)): "a statement about what?",
        ("write", str(judged.report), "--url", "file:///run"): "no address of the web",
        ("verify", "absent", "--key", str(public), "--commit", "HEAD"): "absent: cannot be read",
        ("verify", str(judged.report), "--key", str(public), "--commit", "nowhere"): "no revision `nowhere`",
    }
    write(judged, private)
    commands["verify", str(OUT), "--key", str(private), "--commit", "HEAD"] = "public key that was given cannot be used"
    document = json.loads(judged.report.read_text()) | {"project": "another"}
    edited = judged.folder / "reports" / "edited.json"
    edited.write_text(json.dumps(document), encoding="utf-8")
    commands["write", str(edited)] = "edited after it was written"
    for command, told in commands.items():
        capsys.readouterr()
        assert main(["evidence", "attest", *command]) == 2
        captured = capsys.readouterr()
        assert (captured.out, captured.err.count("\n")) == ("", 1)
        assert told in captured.err
