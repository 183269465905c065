// Holds: whether bytes of an interrupted download are used (lib/agent/sources/kept-download.ts)
/** Kept bytes as downloads ask for them, piece by piece: no network is waited for. */
import { existsSync, mkdirSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { keptBytes, KeptDownload } from "../../../../lib/agent/sources/kept-download.ts";
import type { Code } from "../../../../lib/contract/codes.ts";
import { artifactError, deploymentError } from "../../../../lib/contract/errors.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { PartialFile, readPartial } from "../../../../lib/releases/partial.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const SIZE = 50_000_000;
/** Bytes 10 to 40 of the download, which an earlier run has kept. */
const KEPT = Buffer.alloc(30, "k");
const SLOW = { size: SIZE, etag: '"a"', fetched: 1000, waitedMs: 60_000 };
const FAST = { ...SLOW, fetched: SIZE, waitedMs: 3000 };
const LAST = Number.MAX_SAFE_INTEGER;
const MORE = Buffer.alloc(100, "m");

/** A run that has kept bytes of an earlier one, or none. */
async function runOf(t: Test, hasKept = true) {
  const layout = layoutOf(temporaryFolder(t));
  mkdirSync(layout.sealift);
  const target = "plugin-tides";
  const at = new Date().toISOString();
  const header = { v: 1 as const, version: "1.0.0", signature: "s", size: SIZE, etag: '"a"', from: 10, at };
  if (hasKept) {
    await using file = await PartialFile.create(layout, target, header);
    await file.write(KEPT, 10);
  }
  const events: AgentEvent[] = [];
  const kept = new KeptDownload("1.0.0", { layout, target, emit: (event) => events.push(event) });
  t.teardown(() => kept.drop());
  const attempt = (unpacksLater = 0) => kept.for({ signature: "s", isWritten: false, unpacksLater });
  return {
    ...{ kept, attempt },
    names: () => events.map(({ event }) => event),
    unusable: () => events.flatMap((event) => (event.event === "partial.unusable" ? [event.code] : [])),
    isThere: () => existsSync(layout.partial(target)),
    bytes: async () => (await readPartial(layout, target))?.bytes,
  };
}

const failure = (code: Code) => deploymentError(code, "It failed.");
const unverified = artifactError("signature_invalid", "It is not signed.");

t.test("a part that the server refuses is left aside, and goes once the whole comes", async (t) => {
  const { kept, attempt, isThere, unusable } = await runOf(t);
  t.ok(await kept.isThere());
  const first = attempt();
  t.match(await first.find(), { from: 10, end: 40, size: SIZE, etag: '"a"' });
  first.lost(failure("hub_refused"));
  t.equal(await kept.judge(failure("hub_refused"), false), true, "without them once more");
  t.notOk(await kept.isThere());
  const second = attempt();
  t.equal(second.isRefused, true);
  t.equal(await second.find(), undefined);
  t.ok(isThere());
  await second.take(MORE, 0, SLOW);
  t.notOk(isThere());
  t.strictSame(unusable(), ["hub_refused"]);
});

t.test("bytes of another signature go, and a run that has none ends as well", async (t) => {
  const { kept, isThere, names } = await runOf(t);
  t.equal(await kept.for({ signature: "other", isWritten: false }).find(), undefined);
  t.notOk(isThere());
  for (const isVerified of [true, false]) await kept.end(isVerified);
  t.strictSame(names(), []);
});

t.test("a network that is away costs none of them, and no other attempt is due", async (t) => {
  const { kept, attempt, isThere, unusable } = await runOf(t);
  const under = attempt();
  await under.find();
  under.lost(failure("connection_failed"));
  t.equal(await kept.judge(failure("connection_failed"), false), false);
  t.strictSame([isThere(), await kept.isThere(), unusable()], [true, true, []]);
});

for (const [what, lost] of [
  ["could not be verified", undefined],
  ["the server has other ones of", failure("artifact_changed")],
] as const)
  t.test(`bytes go that ${what}, and another attempt is due if any of them were used`, async (t) => {
    for (const isUsed of [true, false]) {
      const { kept, attempt, isThere, unusable } = await runOf(t);
      const under = attempt();
      const range = (await under.find())!;
      if (isUsed) t.same(await buffer(under.read(range)), KEPT);
      if (lost !== undefined) under.lost(lost);
      t.equal(await kept.judge(unverified, false), isUsed);
      t.strictSame([isThere(), unusable()], [false, isUsed ? ["signature_invalid"] : []]);
    }
  });

t.test("what fails after the bytes were verified is no fault of them", async (t) => {
  const { kept, attempt, isThere } = await runOf(t);
  const under = attempt();
  await buffer(under.read((await under.find())!));
  t.same(keptBytes(kept), { kept_bytes: 30 });
  t.equal(await kept.judge(failure("env_missing"), true), false);
  t.ok(isThere());
  attempt();
  t.same(keptBytes(kept), {}, "another attempt has used none yet");
});

t.test("a full disk gets their room back, once, whether they were verified or not", async (t) => {
  for (const isVerified of [true, false]) {
    const { kept, attempt, isThere, unusable } = await runOf(t);
    await attempt().find();
    t.equal(await kept.judge(failure("disk_full"), isVerified), true);
    t.strictSame([isThere(), unusable()], [false, ["disk_full"]]);
    t.equal(await kept.judge(failure("disk_full"), isVerified), false, "there is nothing more to give");
    await attempt().take(MORE, 1000, SLOW);
    t.notOk(isThere(), "and nothing more is kept");
  }
});

t.test("nothing is read of bytes that have gone meanwhile", async (t) => {
  const { attempt, names } = await runOf(t);
  const under = attempt();
  const range = (await under.find())!;
  await under.refuse(failure("artifact_changed"));
  t.same(await buffer(under.read(range)), Buffer.alloc(0));
  t.strictSame(names(), ["partial.unusable"]);
});

t.test("bytes of a slow download are kept from the second piece on, and no more once it is fast", async (t) => {
  const { kept, attempt, isThere, bytes, names } = await runOf(t, false);
  const under = attempt();
  await under.find();
  await under.take(MORE, 0, SLOW);
  t.notOk(isThere(), "its first piece is always fetched");
  await under.take(MORE, 100, { ...SLOW, waitedMs: 1000 });
  t.notOk(isThere(), "nobody knows yet");
  await under.take(MORE, 200, SLOW);
  t.equal(await bytes(), 100);
  await under.take(MORE, 300, FAST);
  t.equal(await bytes(), 100);
  await kept.end(false);
  t.strictSame([names(), await bytes()], [["partial.kept"], 100]);
});

t.test("bytes before the kept ones count with them once none is missing", async (t) => {
  const { attempt, bytes } = await runOf(t);
  const under = attempt();
  await under.find();
  await under.take(MORE.subarray(0, 5), 1, SLOW);
  t.equal(await bytes(), 30);
  await under.take(MORE.subarray(0, 4), 6, SLOW);
  t.equal(await bytes(), 39);
});

t.test("nothing is kept that takes room from what the deployment needs", async (t) => {
  const { attempt, isThere, names } = await runOf(t, false);
  await attempt(LAST).take(MORE, 100, SLOW);
  t.strictSame([isThere(), names()], [false, ["warning"]]);
  for (const [isVerified, unpacksLater, stays] of [
    [true, 0, true],
    [true, LAST, false],
    [false, LAST, true],
  ] as const) {
    const run = await runOf(t);
    await run.attempt(unpacksLater).find();
    await run.kept.end(isVerified);
    t.equal(run.isThere(), stays);
    t.strictSame(run.names(), isVerified ? [] : ["partial.kept"]);
  }
});
