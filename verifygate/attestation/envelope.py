"""Signatures around statements: DSSE envelopes, made and verified by securesystemslib (extra `sign`)."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from verifygate.base.distribution import install
from verifygate.base.errors import UsageError

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
NO_LIBRARY = f"signatures need securesystemslib: {install('sign')}"
SIGSTORE = "a sigstore bundle: only signatures by a key file are verified, see `verifygate docs records`"


class SignatureError(Exception):
    """The signature does not hold, or cannot be verified; the message says why in one line.

    `forged`: it claims to be one of the very key that refutes it.
    """

    def __init__(self, message: str, *, forged: bool = False) -> None:
        super().__init__(message)
        self.forged = forged


class UnusableKeyError(SignatureError):
    """The reader's own key is no key, or nothing is installed that could verify: no word on the signature."""


def signed(payload: bytes, private_key: bytes, where: str, indent: int | None = 1) -> bytes:
    """The payload in an envelope, signed with a private key (PEM, PKCS#8: Ed25519 or ECDSA). `where` names the key.

    Without an indent, the envelope is one line: so a bundle holds it. Raises UsageError where the library is missing or
    the key cannot be used.
    """
    try:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
        from securesystemslib.dsse import Envelope
        from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]
    except ImportError:
        raise UsageError("cannot sign", remedy=NO_LIBRARY) from None
    try:
        signer = CryptoSigner(load_pem_private_key(private_key, password=None))
    except Exception as error:  # each kind of bad key has its own error, some of them not public
        remedy = "give an unencrypted Ed25519 or ECDSA key in PEM, see `verifygate docs records`"
        raise UsageError(f"cannot sign with this key: {_line(error)}", where=where, remedy=remedy) from None
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return (json.dumps(envelope.to_dict(), indent=indent) + "\n").encode()


def is_envelope(document: Any) -> bool:
    return isinstance(document, dict) and "payload" in document and "signatures" in document


def is_sigstore(document: Any) -> bool:
    return isinstance(document, dict) and "sigstore" in str(document.get("mediaType", ""))


def payload_of(envelope: dict[str, Any]) -> bytes:
    """What an envelope holds, whoever signed it. Raises SignatureError for what is no envelope of a statement."""
    if envelope.get("payloadType") != PAYLOAD_TYPE:
        raise SignatureError(f"its payload is not of the type {PAYLOAD_TYPE}")
    try:
        return base64.b64decode(envelope["payload"], validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise SignatureError("its payload is not base64") from None


def verified(envelope: dict[str, Any], public_key: bytes, whose: str = "in the settings") -> bytes:
    """The payload of an envelope that the owner of `public_key` (PEM) signed. Raises SignatureError.

    `whose` says in the messages which key it is.
    """
    payload_of(envelope)
    try:
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
        from securesystemslib.dsse import Envelope
        from securesystemslib.exceptions import UnverifiedSignatureError
        from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]
    except ImportError:
        raise UnusableKeyError(NO_LIBRARY) from None
    try:
        key = SSlibKey.from_crypto(load_pem_public_key(public_key))
    except Exception as error:  # as in `signed`
        raise UnusableKeyError(f"the public key {whose} cannot be used: {_line(error)}") from None
    claimed = False
    try:
        # The library takes a signature only under its key's id, which is no part of what is signed: say it is ours.
        (signature,) = envelope["signatures"]
        claimed = signature.get("keyid") == key.keyid
        ours = [{**signature, "keyid": key.keyid}]
        opened = Envelope.from_dict({**envelope, "signatures": ours})
        opened.verify([key], threshold=1)
    except UnverifiedSignatureError:
        problem = "it was changed after it was signed" if claimed else f"it is not signed with the key {whose}"
        raise SignatureError(problem, forged=claimed) from None
    except Exception as error:  # a malformed signature raises whatever its parts raise
        raise SignatureError(f"its signature cannot be read: {_line(error)}") from None
    return opened.payload


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
