"""A second implementation of deltas and indexes, written from docs/contract alone. It shares nothing with ours.

Usage: second-delta.py vectors
       second-delta.py index TREE PROJECT VERSION            prints the index's lines
       second-delta.py check INDEX TREE                      reads an index and compares it with a tree
       second-delta.py make INDEX TREE OUT PROJECT VERSION   writes a delta's members, without the manifest
       second-delta.py complete BASE TAR OUT                 completes a tree from a delta's tar
Ciphers, compression and signatures are the caller's.
"""

import base64
import hashlib
import json
import os
import stat
import sys
import tarfile

M32 = 0xFFFFFFFF


def gear_table():
    table = []
    for i in range(256):
        w = (0x9E3779B9 * (i + 1) + 0x05EA11F7) & M32
        w = ((w ^ (w >> 16)) * 0x21F0AAAD) & M32
        w = ((w ^ (w >> 15)) * 0x735A2D97) & M32
        table.append(w ^ (w >> 15))
    return table


GEAR = gear_table()


def chunk_lengths(data):
    lengths, start, h = [], 0, 0
    for at, byte in enumerate(data):
        h = (2 * h + GEAR[byte]) & M32
        length = at + 1 - start
        if length == 65536 or (length >= 4097 and h >> 18 == 0):
            lengths.append(length)
            start = at + 1
    return lengths + [len(data) - start] * (start < len(data))


def sha(data):
    return hashlib.sha256(data).hexdigest()


def order(path):
    return path.split("/")


def read_tree(root):
    """Path → (executable, bytes), and the empty folders; without the root's manifest.json."""
    files, folders = {}, []
    for folder, names, inside in os.walk(root):
        here = os.path.relpath(folder, root).replace(os.sep, "/")
        if not names and not inside and here != ".":
            folders.append(here)
        for name in inside:
            path = name if here == "." else here + "/" + name
            full = os.path.join(folder, name)
            with open(full, "rb") as file:
                files[path] = (bool(os.stat(full).st_mode & stat.S_IXUSR), file.read())
    files.pop("manifest.json", None)
    return files, folders


def tree_digest(files):
    return sha("\n".join(f"{path}:{sha(files[path][1])}" for path in sorted(files, key=order)).encode())


def listing_digest(files, folders):
    text = ""
    for path in sorted([*files, *folders], key=order):
        if path in files:
            text += f"{'executable' if files[path][0] else 'file'} {sha(files[path][1])} {path}\n"
        else:
            text += f"folder {path}\n"
    return sha(text.encode())


def records_of(data):
    records, at = b"", 0
    for length in chunk_lengths(data):
        records += (length - 1).to_bytes(2, "little") + hashlib.sha256(data[at : at + length]).digest()[:16]
        at += length
    return records


def index_lines(files, folders, project, version):
    yield {"v": 1, "project_id": project, "version": version, "content_sha256": tree_digest(files)}
    for path in sorted([*files, *folders], key=order):
        if path not in files:
            yield {"folder": path}
            continue
        executable, data = files[path]
        yield {"file": path, "executable": executable, "size": len(data), "sha256": sha(data)}
        records = records_of(data) if len(data) > 65536 else b""
        for at in range(0, len(records), 4096 * 18):
            yield {"chunks": base64.b64encode(records[at : at + 4096 * 18]).decode()}


def read_index(path):
    """The first line, path → [entry, chunks], and the empty folders."""
    with open(path, encoding="utf-8") as file:
        first, *rest = [json.loads(line) for line in file]
    assert first["v"] == 1
    files, folders, paths = {}, [], []
    for line in rest:
        if "chunks" in line:
            files[paths[-1]][1] += base64.b64decode(line["chunks"])
            continue
        paths.append(line.get("file", line.get("folder")))
        if "file" in line:
            files[line["file"]] = [line, b""]
        else:
            folders.append(line["folder"])
    assert paths == sorted(set(paths), key=order), "canonical order, no path twice"
    return first, files, folders


def pieces_of(data, records):
    """Ranges of an earlier file and new bytes, and those bytes."""
    known, at = {}, 0
    for record in (records[i : i + 18] for i in range(0, len(records), 18)):
        known.setdefault(record, at)
        at += int.from_bytes(record[:2], "little") + 1
    pieces, fresh, at = [], b"", 0
    for length in chunk_lengths(data):
        chunk = data[at : at + length]
        at += length
        offset = known.get((length - 1).to_bytes(2, "little") + hashlib.sha256(chunk).digest()[:16])
        if offset is None:
            fresh += chunk
            pieces.append(length)
        else:
            pieces.append([offset, length])
    return pieces, fresh


def make(index, tree, out, project, version):
    first, before, before_folders = read_index(index)
    files, folders = read_tree(tree)
    base = {"version": first["version"], "content_sha256": first["content_sha256"]}
    head = {"v": 1, "project_id": project, "version": version, "base": base}
    lines = [{**head, "listing_sha256": listing_digest(files, folders)}]
    by_digest = {entry["sha256"]: path for path, (entry, _) in before.items()}
    os.makedirs(os.path.join(out, "bytes"))
    member = 0
    for path in sorted({*files, *folders, *before, *before_folders}, key=order):
        if path in folders:
            if path not in before_folders:
                lines.append({"folder": path})
            continue
        if path not in files:
            lines.append({"drop": path})
            continue
        executable, data = files[path]
        earlier, records = before.get(path, [None, b""])
        line = {"put": path, "executable": executable, "size": len(data), "sha256": sha(data)}
        if earlier and earlier["sha256"] == line["sha256"] and earlier["executable"] == executable:
            continue
        fresh = data
        if line["sha256"] in by_digest:
            line["base"], fresh = by_digest[line["sha256"]], b""
        elif records and len(data) > 65536:
            line["base"] = path
            line["pieces"], fresh = pieces_of(data, records)
        if fresh:
            member += 1
            line["member"] = member
            with open(os.path.join(out, "bytes", str(member)), "wb") as file:
                file.write(fresh)
        lines.append(line)
    with open(os.path.join(out, "delta.ndjson"), "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def complete(base, tar, out):
    files, folders = read_tree(base)
    with tarfile.open(tar) as archive:
        members = {m.name.removeprefix("./"): archive.extractfile(m).read() for m in archive if m.isfile()}
    manifest_bytes = members.pop("manifest.json")
    manifest = json.loads(manifest_bytes)
    first, *lines = [json.loads(line) for line in members.pop("delta.ndjson").decode().splitlines()]
    assert (first["project_id"], first["version"]) == (manifest["project_id"], manifest["version"])
    assert first["base"]["content_sha256"] == tree_digest(files), "a foreign base"
    result, empty, used, last = dict(files), set(folders), 0, None
    for line in lines:
        path = line.get("put") or line.get("folder") or line["drop"]
        assert last is None or order(last) < order(path), "canonical order"
        last = path
        there = path in files or path in folders
        result.pop(path, None)
        empty.discard(path)
        if "drop" in line:
            assert there, "a drop of what the base lacks"
        elif "folder" in line:
            empty.add(path)
        else:
            fresh = b""
            if "member" in line:
                used += 1
                assert line["member"] == used
                fresh = members.pop(f"bytes/{used}")
            data = fresh
            if "pieces" in line:
                source, data, at = files[line["base"]][1], b"", 0
                for piece in line["pieces"]:
                    if isinstance(piece, int):
                        data += fresh[at : at + piece]
                        at += piece
                    else:
                        assert piece[0] + piece[1] <= len(source)
                        data += source[piece[0] : piece[0] + piece[1]]
                assert at == len(fresh)
            elif "base" in line:
                data = files[line["base"]][1]
            assert (len(data), sha(data)) == (line["size"], line["sha256"])
            result[path] = (line["executable"], data)
    assert not members, "a member that no line names"
    empty = {f for f in empty if not any(p.startswith(f + "/") for p in [*result, *empty])}
    assert tree_digest(result) == manifest["content_sha256"]
    assert listing_digest(result, empty) == first["listing_sha256"]
    for path in empty:
        os.makedirs(os.path.join(out, path))
    for path, (executable, data) in {**result, "manifest.json": (False, manifest_bytes)}.items():
        full = os.path.join(out, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(data)
        os.chmod(full, 0o755 if executable else 0o644)


def vectors():
    print(sha(b"".join(word.to_bytes(4, "little") for word in GEAR)))
    data, at = hashlib.shake_256(b"chunks").digest(200000), 0
    for length in chunk_lengths(data):
        print(sha(data[at : at + length])[:32])
        at += length
    files = {"a/run.sh": (True, b"#!/bin/sh\n"), "a-b/c": (False, b"1\n")}
    print(tree_digest(files), listing_digest(files, ["a/empty"]), sep="\n")
    for line in index_lines(files, ["a/empty"], "prj_0123456789abcdef0123456789abcdef", "1.0.0"):
        print(json.dumps(line, separators=(",", ":")))


def main(command, *given):
    if command == "vectors":
        vectors()
    elif command == "index":
        for line in index_lines(*read_tree(given[0]), *given[1:]):
            print(json.dumps(line))
    elif command == "check":
        first, entries, folders = read_index(given[0])
        files, own_folders = read_tree(given[1])
        assert first["content_sha256"] == tree_digest(files)
        assert sorted(folders) == sorted(own_folders) and sorted(entries) == sorted(files)
        for path, (entry, records) in entries.items():
            executable, data = files[path]
            assert (entry["executable"], entry["sha256"], entry["size"]) == (executable, sha(data), len(data))
            assert records == (records_of(data) if len(data) > 65536 else b""), path
    elif command == "make":
        make(*given)
    elif command == "complete":
        complete(*given)


main(*sys.argv[1:])
