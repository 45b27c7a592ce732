"""The signature of `evidence.json`: a Sigstore bundle beside it, checked by the package `sigstore` where that is
installed. upskill has no cryptography of its own."""

import importlib.util
import logging
from pathlib import Path

from upskill.domain.evidence_state import SignatureState
from upskill.domain.skill import EVIDENCE_FILE, SIGNATURE_FILE
from upskill.domain.text import on_one_line
from upskill.errors import UpskillError
from upskill.storage.plain_files import read_plain

_MOST_BYTES = 1_000_000


def signature_state(folder: Path, *, identity: str | None, issuer: str | None) -> SignatureState:
    """Whether this identity signed the evidence beside a skill.

    Without the bundle, the package or both names nothing is checked, and the state says why. Nothing is sent: the
    bundle is checked against the trust root that comes with the package.
    """
    try:
        bundle = read_plain(folder / SIGNATURE_FILE, most=_MOST_BYTES)
        signed = read_plain(folder / EVIDENCE_FILE)
    except FileNotFoundError:
        return SignatureState(status="absent")
    except UpskillError as error:
        return SignatureState(status="invalid", why=error.message)
    if identity is None or issuer is None:
        return SignatureState(status="not checked", why="name the signer with --identity and --issuer")
    if importlib.util.find_spec("sigstore") is None:
        return SignatureState(status="not checked", why="the package sigstore is not installed (pip install sigstore)")
    return _checked(signed, bundle, identity=identity, issuer=issuer)


def _checked(signed: bytes, bundle: bytes, *, identity: str, issuer: str) -> SignatureState:
    from sigstore.errors import Error
    from sigstore.models import Bundle, InvalidBundle
    from sigstore.verify import Verifier, policy

    logging.getLogger("sigstore").setLevel(logging.ERROR)  # that it stays offline is wanted
    try:
        verifier = Verifier.production(offline=True)
    except (Error, OSError) as error:
        return SignatureState(status="not checked", why=on_one_line(f"sigstore has no trust root here ({error})"))
    try:
        signer = policy.Identity(identity=identity, issuer=issuer)
        verifier.verify_artifact(signed, Bundle.from_json(bundle), signer)
    except (Error, InvalidBundle, ValueError) as error:
        return SignatureState(status="invalid", why=on_one_line((str(error) or type(error).__name__).splitlines()[0]))
    return SignatureState(status="valid", why=on_one_line(f"{identity}, by {issuer}"))
