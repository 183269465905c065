// Holds: what stands for a partial download (lib/releases/partial.ts)
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  constants,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { buffer } from "node:stream/consumers";
import t, { type Test } from "tap";
import { layoutOf } from "../../../lib/releases/layout.ts";
import {
  dropPartial,
  hasPartial,
  isUselessPartial,
  keptEtag,
  PartialFile,
  type PartialHeader,
  readPartial,
} from "../../../lib/releases/partial.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const DAY_MS = 24 * 3_600_000;
const target = "plugin-tides";

function place(t: Test) {
  const layout = layoutOf(temporaryFolder(t));
  const path = layout.partial(target);
  mkdirSync(dirname(path), { recursive: true });
  const begun: PartialHeader = {
    ...{ v: 1, version: "1.0.0", signature: "c2ln", size: 100, etag: '"a"', from: 10 },
    at: new Date().toISOString(),
  };
  /** Writes a file as an earlier run has left it. */
  const leave = (header: object, bytes: Buffer): void =>
    writeFileSync(path, Buffer.concat([Buffer.from(`${JSON.stringify(header).padEnd(4095)}\n`), bytes]), {
      mode: 0o600,
    });
  /** Bytes of the download up to an offset; those before the kept ones are a hole. */
  const upTo = (end: number): Buffer => Buffer.alloc(end, "x");
  return { layout, path, begun, leave, upTo };
}

t.test("bytes that were written are read in the next run, and none before them", async (t) => {
  const { layout, begun } = place(t);
  const bytes = randomBytes(30);
  {
    await using file = await PartialFile.create(layout, target, begun);
    await file.write(bytes, 10);
  }
  t.same(await readPartial(layout, target), { version: "1.0.0", bytes: 30, size: 100, at: begun.at });
  await using file = (await PartialFile.open(layout, target))!;
  t.match({ header: file.header, end: file.end }, { header: begun, end: 40 });
  t.same(await buffer(file.read(10, 40)), bytes);
  await file.write(randomBytes(9), 1);
  await file.closeGap();
  t.match(await readPartial(layout, target), { bytes: 39 });
});

t.test("an ETag is kept if requests can have it and it is short", (t) => {
  for (const etag of ['"a"', 'W/"a"', `"${"a".repeat(1022)}"`]) t.equal(keptEtag(etag), etag);
  for (const etag of [undefined, "a", '"a" "b"', '"a"\r\nx: y', '"ä"', `"${"a".repeat(1023)}"`])
    t.equal(keptEtag(etag), null, `${etag}`);
  t.end();
});

t.test("a description that its place cannot hold is refused before anything is removed", async (t) => {
  const { layout, begun, leave, upTo } = place(t);
  leave(begun, upTo(40));
  await t.rejects(PartialFile.create(layout, target, { ...begun, signature: "s".repeat(4096) }), RangeError);
  t.match(await readPartial(layout, target), { bytes: 30 });
});

t.test("a file counts with one byte behind its hole, and for 14 days", async (t) => {
  const { layout, begun, leave, upTo } = place(t);
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  for (const [what, header, end, counts] of [
    ["nothing but a hole", begun, 10, false],
    ["one byte", begun, 11, true],
    ["14 days old", { ...begun, at: at(-14 * DAY_MS) }, 40, false],
    ["almost 14 days old", { ...begun, at: at(-14 * DAY_MS + 60_000) }, 40, true],
    ["of a clock that was set back since", { ...begun, at: at(15 * DAY_MS) }, 40, false],
    ["more than its download has", begun, 130, true],
  ] as const) {
    leave(header, upTo(end));
    const found = await readPartial(layout, target);
    t.equal(found !== undefined, counts, what);
    if (found) t.equal(found.bytes, Math.min(end, 100) - 10, what);
  }
});

t.test("what is no file of one name is not a download, and nothing is read from a pipe", async (t) => {
  const { layout, path, begun, leave, upTo } = place(t);
  leave(begun, upTo(40));
  linkSync(path, `${path}-too`);
  t.equal(await readPartial(layout, target), undefined, "a file of two names");
  rmSync(path);
  mkdirSync(path);
  t.equal(await readPartial(layout, target), undefined, "a folder");
  rmSync(path, { recursive: true });
  execFileSync("mkfifo", [path]);
  await using pipe = await open(path, constants.O_RDWR | constants.O_NONBLOCK);
  await pipe.write(readFileSync(`${path}-too`));
  t.equal(await readPartial(layout, target), undefined, "a pipe");
  t.equal(await PartialFile.open(layout, target), undefined);
  t.equal((await pipe.read(Buffer.alloc(8000))).bytesRead, 4136);
});

t.test(
  "another user's file is shown and not written",
  { skip: process.getuid?.() === 0 ? false : "only root can give a file to another user" },
  async (t) => {
    const { layout, path, begun, leave, upTo } = place(t);
    leave(begun, upTo(40));
    chmodSync(path, 0o666);
    execFileSync("chown", ["65534", path]);
    t.match(await readPartial(layout, target), { bytes: 30 });
    t.equal(await PartialFile.open(layout, target), undefined);
  },
);

t.test("what no run will use is useless after a minute, in which another run may still make it", async (t) => {
  const { layout, path, begun, leave, upTo } = place(t);
  t.notOk(await isUselessPartial(layout, target), "nothing is there");
  for (const [what, header, secondsOld, isUseless] of [
    ["just begun", begun, 50, false],
    ["begun and left", begun, 70, true],
  ] as const) {
    leave(header, upTo(0));
    const seconds = Date.now() / 1000 - secondsOld;
    utimesSync(path, seconds, seconds);
    t.equal(await isUselessPartial(layout, target), isUseless, what);
  }
  leave(begun, upTo(40));
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(path, hourAgo, hourAgo);
  t.notOk(await isUselessPartial(layout, target), "a run will use it");
});

t.test("a folder that is a link has nothing in it, and nothing behind it goes", async (t) => {
  const { layout, path, begun, leave, upTo } = place(t);
  leave(begun, upTo(40));
  t.ok(await hasPartial(layout, target));
  const elsewhere = `${dirname(path)}-elsewhere`;
  renameSync(dirname(path), elsewhere);
  symlinkSync(elsewhere, dirname(path));
  t.notOk(await hasPartial(layout, target));
  await dropPartial(layout, target);
  t.notOk(await isUselessPartial(layout, target));
  t.ok(await hasPartial({ ...layout, partial: () => `${elsewhere}/${target}` }, target), "it is where it was");
  symlinkSync("circle", `${layout.sealift}/circle`);
  t.notOk(await hasPartial({ ...layout, partial: () => `${layout.sealift}/circle/partial/${target}` }, target));
});
