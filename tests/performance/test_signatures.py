"""Envelopes around records: what a signature vouches for, and every way in which it does not."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from verifygate.attestation.envelope import SignatureError, is_envelope, is_sigstore, signed, verified
from verifygate.base.errors import UsageError

KeyPair = Callable[..., tuple[bytes, bytes]]
PAYLOAD = b'{"_type": "https://in-toto.io/Statement/v1"}\n'


def enveloped(private: bytes, payload: bytes = PAYLOAD) -> dict[str, Any]:
    return json.loads(signed(payload, private, "key.pem"))


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_a_signature_gives_the_payload_back(key_pair: KeyPair, kind: str) -> None:
    """To who has the public key; the envelope is DSSE with in-toto's payload type."""
    private, public = key_pair(kind)
    document = enveloped(private)
    assert is_envelope(document)
    assert document["payloadType"] == "application/vnd.in-toto+json"
    assert verified(document, public) == PAYLOAD


def test_another_key_does_not_vouch(key_pair: KeyPair) -> None:
    """An honest record signed by somebody else is no forgery; it just proves nothing here."""
    (private, _), (_, other) = key_pair(), key_pair()
    with pytest.raises(SignatureError, match="not signed with the key in the settings") as refused:
        verified(enveloped(private), other)
    assert not refused.value.forged


def test_a_changed_payload_is_a_forgery(key_pair: KeyPair) -> None:
    """The signature claims to be of the key that refutes it."""
    private, public = key_pair()
    document = enveloped(private)
    document["payload"] = base64.b64encode(PAYLOAD.replace(b"v1", b"v2")).decode()
    with pytest.raises(SignatureError, match="changed after it was signed") as refused:
        verified(document, public)
    assert refused.value.forged


def test_an_id_of_the_right_key_does_not_make_it_the_right_key(key_pair: KeyPair) -> None:
    """The id is no part of what is signed: who takes it over has still not signed."""
    (private, public), (stranger, _) = key_pair(), key_pair()
    document = enveloped(stranger)
    document["signatures"][0]["keyid"] = enveloped(private)["signatures"][0]["keyid"]
    with pytest.raises(SignatureError):
        verified(document, public)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"payloadType": "text/plain"}, "payload is not of the type"),
        ({"payload": "not base64!"}, "not base64"),
        ({"payload": 7}, "not base64"),
        ({"signatures": []}, "cannot be read"),
        ({"signatures": ["x"]}, "cannot be read"),
        ({"signatures": [{"keyid": "a", "sig": "?"}]}, "cannot be read|not signed with"),
        ({"signatures": None}, "cannot be read"),
    ],
)
def test_malformed_envelopes_are_refused_in_one_line(key_pair: KeyPair, change: dict[str, Any], told: str) -> None:
    """Whatever is wrong with it, it is a refusal, never an error."""
    private, public = key_pair()
    with pytest.raises(SignatureError, match=told) as refused:
        verified({**enveloped(private), **change}, public)
    assert "\n" not in str(refused.value)


def test_a_public_key_that_is_none(key_pair: KeyPair) -> None:
    """Said as what it is."""
    private, _ = key_pair()
    with pytest.raises(SignatureError, match="public key in the settings cannot be used"):
        verified(enveloped(private), b"-----BEGIN PUBLIC KEY-----\n")


def test_a_private_key_that_is_none() -> None:
    """Names the file and how to make one."""
    with pytest.raises(UsageError, match=r"key\.pem: cannot sign with this key: .*Ed25519 or ECDSA"):
        signed(PAYLOAD, b"nothing", "key.pem")


def test_sigstore_bundles_are_told_apart() -> None:
    """They are refused as what they are."""
    assert is_sigstore({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "dsseEnvelope": {}})
    assert not is_sigstore({"payload": ""})
