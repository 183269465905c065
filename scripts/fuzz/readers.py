"""Reads archives with Python's own tarfile and zipfile: a JSON line in (kind, path), a JSON line out (path -> SHA-256, or null for a folder)."""
import hashlib, json, sys, tarfile, zipfile

def clean(name):
    while name.startswith("./"):
        name = name[2:]
    return name.rstrip("/")

def tar(path):
    found = {}
    with tarfile.open(path, "r:", encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            name = clean(member.name)
            if name in ("", "."):
                continue
            found[name] = hashlib.sha256(archive.extractfile(member).read()).hexdigest() if member.isfile() else None
    return found

def zip_(path):
    found = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = clean(member.filename)
            found[name] = None if member.is_dir() else hashlib.sha256(archive.read(member)).hexdigest()
    return found

for line in sys.stdin:
    kind, path = json.loads(line)
    try:
        answer = {"files": tar(path) if kind == "tar" else zip_(path)}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
