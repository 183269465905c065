"""Reads, verifies and signs trust roots by securesystemslib.

Arguments: `verify BASE FILE` prints the number of valid signatures on FILE by the root keys of BASE;
`sign FILE KEYTYPE SEED_OR_PEM_FILE KEYID` prints FILE with another signature.
"""

import json
import sys

from securesystemslib.formats import encode_canonical
from securesystemslib.signer import Key, Signature, SSlibSigner


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def message_of(root):
    return encode_canonical(root["signed"]).encode("utf-8")


def verify(base, root):
    keys = read(base)["signed"]
    document = read(root)
    valid = set()
    for found in document["signatures"]:
        keyid = found["keyid"]
        if keyid not in keys["roles"]["root"]["keyids"]:
            continue
        key = Key.from_dict(keyid, dict(keys["keys"][keyid]))
        try:
            key.verify_signature(Signature(keyid, found["sig"]), message_of(document))
            valid.add(keyid)
        except Exception as error:  # noqa: BLE001
            print(type(error).__name__, error, file=sys.stderr)
    return len(valid)


def sign(root, keytype, secret, keyid):
    document = read(root)
    key = dict(document["signed"]["keys"][keyid])
    if keytype == "ecdsa":
        with open(secret, encoding="utf-8") as file:
            secret = file.read()
    key["keyval"] = {**key["keyval"], "private": secret}
    made = SSlibSigner({**key, "keyid": keyid}).sign(message_of(document))
    document["signatures"].append({"keyid": keyid, "sig": made.signature})
    return json.dumps(document)


if sys.argv[1] == "verify":
    print(verify(*sys.argv[2:]))
else:
    print(sign(*sys.argv[2:]))
