"""Verifies the author's signature of a version as docs/contract/marketplace.md says, and with nothing of Sealift.

Usage: second-verifier.py HUB TARGET VERSION. The key of the hub is in API_KEY. Prints the signer in hexadecimal.
"""

import base64
import os
import sys
import urllib.request

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

hub, target, version = sys.argv[1:]
request = urllib.request.Request(f"{hub}{target}/install?version={version}")
request.add_header("X-API-Key", os.environ["API_KEY"])
with urllib.request.urlopen(request, timeout=30) as answer:
    archive = answer.read()
    signature = base64.b64decode(answer.headers["X-Signature-Ed25519"], validate=True)
    signer = base64.b64decode(answer.headers["X-Signer"], validate=True)
Ed25519PublicKey.from_public_bytes(signer).verify(signature, archive)
print(signer.hex())
