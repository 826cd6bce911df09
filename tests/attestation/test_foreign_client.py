"""What `attest write` signs is verified by other people's code: securesystemslib's envelopes, in-toto's bindings.

Nothing of verifygate reads in this file: a consumer may not have it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from judged_repository import FAULTY, Judged
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from verifygate.cli import main

Keys = Callable[..., tuple[Path, Path]]


def bundle(judged: Judged, private: Path) -> list[dict[str, Any]]:
    """The envelopes that the command writes, as JSON."""
    out = judged.folder / "reports" / "report.intoto.jsonl"
    assert main(["evidence", "attest", "write", str(judged.report), "--key", str(private), "--output", str(out)]) == 0
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def opened(document: dict[str, Any], public: Path) -> Statement:
    """The statement in an envelope. Raises VerificationError where the key did not sign it."""
    envelope = Envelope.from_dict(json.loads(json.dumps(document)))
    envelope.verify([SSlibKey.from_crypto(load_pem_public_key(public.read_bytes()))], threshold=1)
    assert envelope.payload_type == "application/vnd.in-toto+json"
    statement = Statement.copy_from_pb(json_format.Parse(envelope.payload.decode(), statement_pb2.Statement()))
    statement.validate()
    return statement


def is_about(statement: Statement, algorithm: str, digest: str) -> bool:
    """Subjects are matched by digest, as the specification has it."""
    return any(subject.digest.get(algorithm) == digest for subject in statement.pb.subject)


def result_of(statement: Statement) -> test_result_pb2.TestResult:
    document = json_format.MessageToDict(statement.pb.predicate)
    return json_format.ParseDict(document, test_result_pb2.TestResult(), ignore_unknown_fields=True)


def test_the_signature_holds_by_the_words_of_dsse(judged: Judged, keys: Keys) -> None:
    """Without any library of envelopes: the pre-authentication encoding, and the curve."""
    private, public = keys()
    judged.run()
    key = load_pem_public_key(public.read_bytes())
    assert isinstance(key, Ed25519PublicKey)
    for envelope in bundle(judged, private):
        kind, payload = envelope["payloadType"].encode(), base64.b64decode(envelope["payload"])
        signed = b" ".join([b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload])
        (signature,) = envelope["signatures"]
        key.verify(base64.b64decode(signature["sig"]), signed)
        with pytest.raises(InvalidSignature):
            key.verify(base64.b64decode(signature["sig"]), signed + b" ")


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_the_verdict_is_read_by_others(judged: Judged, keys: Keys, kind: str) -> None:
    """Both statements: subjects, result, tests, the digest of the configuration; and the verified properties."""
    private, public = keys(kind=kind)
    assert judged.run() == 0
    result, svr = (opened(each, public) for each in bundle(judged, private))
    report = hashlib.sha256(judged.report.read_bytes()).hexdigest()
    for statement in (result, svr):
        assert is_about(statement, "gitCommit", judged.git("rev-parse", "HEAD"))
        assert is_about(statement, "sha256", report)

    assert result.pb.predicate_type == "https://in-toto.io/attestation/test-result/v0.1"
    said = result_of(result)
    assert said.result == "PASSED"
    assert "static.AMP201" in said.passed_tests
    assert not said.failed_tests
    digests = {each.name: each.digest.get("sha256") for each in said.configuration}
    assert digests["verifygate.toml"] == hashlib.sha256((judged.folder / "verifygate.toml").read_bytes()).hexdigest()

    assert svr.pb.predicate_type == "https://in-toto.io/attestation/svr/v0.1"
    found = json_format.MessageToDict(svr.pb.predicate)
    assert {"VERIFYGATE_PASS", "VERIFYGATE_STAGE_STATIC"} <= set(found["properties"])
    assert found["verifier"]["id"].startswith("urn:verifygate:gate:")
    assert found["timeCreated"].endswith("Z")


def test_a_block_is_read_as_one(judged: Judged, keys: Keys) -> None:
    """FAILED with the check that failed, and no verified property."""
    private, public = keys()
    judged.commit(train__py=FAULTY)
    assert judged.run() == 1
    result, svr = (opened(each, public) for each in bundle(judged, private))
    assert result_of(result).result == "FAILED"
    assert list(result_of(result).failed_tests) == ["static.AMP201"]
    assert not json_format.MessageToDict(svr.pb.predicate).get("properties")


def test_another_key_is_refused(judged: Judged, keys: Keys) -> None:
    """The consumer's key did not sign it."""
    private, _ = keys()
    _, other = keys("other")
    judged.run()
    for envelope in bundle(judged, private):
        with pytest.raises(VerificationError):
            opened(envelope, other)


def test_a_changed_payload_is_refused(judged: Judged, keys: Keys) -> None:
    """FAILED turned into PASSED after the signature."""
    private, public = keys()
    judged.commit(train__py=FAULTY)
    judged.run()
    result = bundle(judged, private)[0]
    payload = base64.b64decode(result["payload"])
    assert b'"result":"FAILED"' in payload
    result["payload"] = base64.b64encode(payload.replace(b'"result":"FAILED"', b'"result":"PASSED"')).decode()
    with pytest.raises(VerificationError):
        opened(result, public)


def test_it_is_about_no_other_commit_and_no_other_report(judged: Judged, keys: Keys) -> None:
    """A later commit is no subject, nor is the report of another run."""
    private, public = keys()
    judged.run()
    statements = [opened(each, public) for each in bundle(judged, private)]
    later = judged.commit(train__py=FAULTY)
    judged.run()
    for statement in statements:
        assert not is_about(statement, "gitCommit", later)
        assert not is_about(statement, "sha256", hashlib.sha256(judged.report.read_bytes()).hexdigest())
