"""Reads a kit on its host, from docs/contract/kits.md alone, with the library `cryptography`.

Usage: read_kit.py FOLDER HOST_SEED_HEX SIGNER_HEX
Prints what it has verified as JSON; ends with 1 and the reason for anything that a host must refuse.
"""

import base64
import hashlib
import json
import os
import stat
import sys

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

RAW = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
FIELDS = {"t", "v", "id", "hub", "target", "version", "digest", "made_at", "ends_at", "roots", "facts", "provenance", "hub_signature", "hosts"}
TERMS = {"t", "v", "kit", "to", "hub", "target", "version", "digest", "made_at", "ends_at", "said", "key"}


def refuse(why):
    print(why, file=sys.stderr)
    sys.exit(1)


def hkdf(key, salt, info):
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=salt, info=info.encode()).derive(key)


def once(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        refuse("a key stands twice")
    return dict(pairs)


def whole(text):
    refuse(f"the number {text} is not whole digits")


def parse(text):
    return json.loads(text, object_pairs_hook=once, parse_float=whole, parse_constant=whole)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def unbase64(text):
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def open_age(sealed, secret, public):
    """age v1 with one X25519 stanza (age-encryption.org/v1)."""
    head, _, rest = sealed.partition(b"\n---")
    lines = head.decode("ascii").split("\n")
    if len(lines) != 3 or lines[0] != "age-encryption.org/v1" or not lines[1].startswith("-> X25519 "):
        refuse("not age with one stanza")
    mac, _, payload = rest[1:].partition(b"\n")
    share = unbase64(lines[1][len("-> X25519 ") :])
    shared = secret.exchange(X25519PublicKey.from_public_bytes(share))
    wrap = hkdf(shared, share + public, "age-encryption.org/v1/X25519")
    file_key = ChaCha20Poly1305(wrap).decrypt(bytes(12), unbase64(lines[2]), None)
    check = hmac.HMAC(hkdf(file_key, b"", "header"), hashes.SHA256())
    check.update(head + b"\n---")
    check.verify(unbase64(mac.decode("ascii")))
    nonce, chunk = payload[:16], payload[16:]
    return ChaCha20Poly1305(hkdf(file_key, nonce, "payload")).decrypt(bytes(11) + b"\x01", chunk, None)


def regular(folder, name):
    found = [each for each in os.listdir(folder) if each.lower() == name]
    if len(found) != 1:
        refuse(f"there is no single {name}")
    descriptor = os.open(os.path.join(folder, found[0]), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        refuse(f"{name} is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def main(folder, seed, signer):
    seed = bytes.fromhex(seed)
    secret = X25519PrivateKey.from_private_bytes(hkdf(seed, None, "sealift host age v1"))
    signing = Ed25519PrivateKey.from_private_bytes(hkdf(seed, None, "sealift host sign v1"))
    x25519, ed25519 = secret.public_key().public_bytes(*RAW), signing.public_key().public_bytes(*RAW)
    keys = '{"ed25519":"%s","x25519":"%s"}' % (ed25519.hex(), x25519.hex())
    fingerprint = hashlib.sha256(keys.encode()).hexdigest()
    kit = parse(regular(folder, "kit.json").decode())
    if set(kit) - {"project", "archive"} != FIELDS or kit["t"] != "sealift-kit" or kit["v"] != 1:
        refuse("another form")
    if fingerprint not in kit["hosts"]:
        refuse("for another host")
    try:
        terms = parse(open_age(base64.b64decode(kit["hosts"][fingerprint]), secret, x25519))
    except (InvalidTag, InvalidSignature):
        refuse("the terms do not open")
    if set(terms) != TERMS or terms["t"] != "sealift-kit-terms" or terms["v"] != 1:
        refuse("terms of another form")
    same = ("hub", "target", "version", "digest", "made_at", "ends_at")
    if terms["to"] != fingerprint or terms["kit"] != kit["id"] or any(terms[name] != kit[name] for name in same):
        refuse("the terms say otherwise")
    said = {name: kit[name] for name in ("project", "archive", "facts") if name in kit}
    if hashlib.sha256(canonical(said)).hexdigest() != terms["said"]:
        refuse("the hub has said something else")
    word = {"t": "sealift-kit-word", "v": 1, "kit": kit["id"], "said": terms["said"], **{name: kit[name] for name in same}}
    try:
        named = Ed25519PublicKey.from_public_bytes(bytes.fromhex(kit["hub_signature"]["key"]))
        named.verify(bytes.fromhex(kit["hub_signature"]["sig"]), canonical(word))
    except InvalidSignature:
        refuse("the hub has not signed it")
    bytes_ = regular(folder, "artifact.bin")
    if hashlib.sha256(bytes_).hexdigest() != kit["digest"]:
        refuse("another artifact.bin")
    nonce, sealed = bytes_[:12], bytes_[12:]
    try:
        plain = AESGCM(base64.b64decode(terms["key"])).decrypt(nonce, sealed, None)
        if "project" in kit:
            project = kit["project"]
            if base64.b64decode(project["signer_public_key"]).hex() != signer or project["size_bytes"] != len(bytes_):
                refuse("another signer or size")
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(signer)).verify(base64.b64decode(project["signature"]), bytes_)
        elif hashlib.sha256(plain).hexdigest() != kit["archive"]["sha256"]:
            refuse("another archive")
    except (InvalidTag, InvalidSignature):
        refuse("the bytes are not those that were signed")
    reports = []
    where = os.path.join(folder, "reports")
    for name in sorted(os.listdir(where)) if os.path.isdir(where) else []:
        envelope = parse(regular(where, name).decode())
        signed = envelope["signed"]
        message = canonical(signed)
        mine = [each["sig"] for each in envelope["signatures"] if each["key"] == ed25519.hex()]
        Ed25519PublicKey.from_public_bytes(ed25519).verify(bytes.fromhex(mine[0]), message)
        if hashlib.sha256(message).hexdigest()[:16] + ".json" != name or signed["t"] != "sealift-report":
            refuse("another report")
        reports.append(json.loads(signed["report"])["status"])
    print(json.dumps({"kit": kit["id"], "version": kit["version"], "magic": plain[:4].hex(), "hub_key": kit["hub_signature"]["key"], "reports": reports}))


main(*sys.argv[1:])
