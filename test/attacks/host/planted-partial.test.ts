// Holds: whether bytes of an interrupted download are used (lib/agent/sources/kept-download.ts)
/** Somebody plants what he likes in the place of a partial download: nothing of it is followed, written or believed. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import t, { type Test } from "tap";
import { DeployClient } from "../../../lib/client/deploy-client.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { dropPartial, PartialFile, readPartial } from "../../../lib/releases/partial.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { deltaFleet } from "../../support/host/delta-fleet.ts";
import { startSlowLine } from "../../support/hub/slow-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A host, the artifact that it will fetch, and a header that fits it. */
async function victim(t: Test) {
  const fleet = await deltaFleet(t);
  await fleet.publish("1.0.0");
  const line = await startSlowLine(t, () => fleet.hubUrl);
  const { id } = fleet.project;
  const client = new DeployClient(id, fleet.connection);
  const location = await client.locate("1.0.0");
  const { signature } = location;
  const bytes = await buffer(client.download("1.0.0", location, { maxBytes: 1e9 }));
  const etag = `"sha256-${createHash("sha256").update(bytes).digest("hex")}"`;
  const fits = {
    v: 1,
    version: "1.0.0",
    signature,
    size: bytes.length,
    etag,
    from: 1000,
    at: new Date().toISOString(),
  };
  const target = `project-${id}` as const;
  const hosts = () => {
    const root = temporaryFolder(t);
    const layout = layoutOf(root);
    mkdirSync(join(layout.sealift, "partial"), { recursive: true });
    const deploy = () => fleet.deployTo(root, "1.0.0", { hubUrl: line.url });
    return { root, layout, partial: layout.partial(target), deploy };
  };
  return { bytes, fits, target, hosts, line };
}

const fileOf = (header: object, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(JSON.stringify(header).padEnd(4096)), bytes]);

t.test("links, pipes, folders and files of two names are not opened, and go", async (t) => {
  const { bytes, fits, target, hosts } = await victim(t);
  const whole = fileOf(fits, bytes);
  const plants: Record<string, (partial: string, outside: string) => void> = {
    "a link to a file that fits": (partial, outside) => symlinkSync(outside, partial),
    "a link to a device without an end": (partial) => symlinkSync("/dev/zero", partial),
    "a link to nothing": (partial) => symlinkSync("/nowhere", partial),
    "a second name of a file": (partial, outside) => linkSync(outside, partial),
    "a pipe": (partial) => execFileSync("mkfifo", [partial]),
    "a folder": (partial, outside) => {
      mkdirSync(partial);
      symlinkSync(outside, join(partial, "link"));
    },
  };
  for (const [what, plant] of Object.entries(plants)) {
    const { root, layout, partial, deploy } = hosts();
    const outside = join(root, "outside");
    writeFileSync(outside, whole);
    plant(partial, outside);
    t.equal(await readPartial(layout, target), undefined, what);
    const { result, find } = await deploy();
    t.match(result, { outcome: "deployed" }, what);
    t.equal(find("partial.used"), undefined, what);
    t.notOk(existsSync(partial), what);
    t.same(readFileSync(outside), whole, `${what}: the file elsewhere is as it was`);

    plant(partial, outside);
    const { at } = fits;
    const header = { v: 1 as const, version: "2.0.0", signature: "", size: 10, etag: null, from: 1, at };
    await using made = await PartialFile.create(layout, target, header);
    await made.write(Buffer.from("new"), 1);
    t.ok(statSync(partial).isFile() && statSync(partial).nlink === 1, `${what}: replaced by a file of its own`);
    t.same(readFileSync(outside), whole);
  }
});

t.test("a link in the place of the folder is followed neither to write nor to remove", async (t) => {
  const { fits, target, hosts } = await victim(t);
  const { root, layout, partial, deploy } = hosts();
  rmSync(join(layout.sealift, "partial"), { recursive: true });
  const outside = join(root, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, target), "mine");
  symlinkSync(outside, join(layout.sealift, "partial"));
  t.match((await deploy()).result, { outcome: "deployed" });
  await t.rejects(PartialFile.create(layout, target, { ...fits, v: 1 }));
  await dropPartial(layout, target).catch(() => {});
  t.equal(readFileSync(partial, "utf8"), "mine");
});

t.test("headers that lie cost no more than another download, and blame no version", async (t) => {
  const { bytes, fits, target, hosts, line } = await victim(t);
  const noise = Buffer.alloc(bytes.length, 7);
  const lies: Record<string, [header: object, bytes: Buffer]> = {
    "other bytes": [fits, noise],
    "another size": [{ ...fits, size: bytes.length * 2 }, Buffer.alloc(bytes.length * 2)],
    "a size without an end": [{ ...fits, size: Number.MAX_SAFE_INTEGER }, bytes],
    "another ETag": [{ ...fits, etag: '"sha256-00"' }, bytes],
    "no ETag, and other bytes": [{ ...fits, etag: null }, noise],
    "an ETag that would add a header": [{ ...fits, etag: '"a"\r\nX-Forged: 1' }, bytes],
    "a beginning before the first byte": [{ ...fits, from: 0 }, bytes],
    "a beginning behind the end": [{ ...fits, from: bytes.length + 5 }, bytes],
    "more bytes than its size": [fits, Buffer.concat([bytes, noise])],
    "the key of a prototype": [{ ...fits, __proto__: { size: 1 }, etag: {} }, bytes],
    "a date that is none": [{ ...fits, at: "tomorrow" }, bytes],
    "a date in the year 9999": [{ ...fits, at: "9999-01-01T00:00:00Z" }, bytes],
  };
  for (const [what, [header, content]] of Object.entries(lies)) {
    const { root, layout, partial, deploy } = hosts();
    writeFileSync(partial, fileOf(header, content));
    line.downloads.length = 0;
    const { result } = await deploy();
    t.match(result, { outcome: "deployed", version: "1.0.0" }, what);
    t.notOk(existsSync(partial), what);
    t.same(await readQuarantine(layout, target), [], what);
    const passed = line.downloads.reduce((sum, { bytes }) => sum + bytes, 0);
    t.ok(passed <= bytes.length * 2, `${what}: ${passed} bytes`);
    t.ok(existsSync(join(root, "plugins/demo")), what);
  }
});

t.test(
  "a file of another user is not used",
  { skip: process.getuid?.() === 0 ? false : "only root can give a file to another user" },
  async (t) => {
    const { bytes, fits, target, hosts } = await victim(t);
    const { layout, partial } = hosts();
    writeFileSync(partial, fileOf(fits, bytes));
    chmodSync(partial, 0o666);
    execFileSync("chown", ["65534", partial]);
    t.equal(await PartialFile.open(layout, target), undefined);
  },
);
