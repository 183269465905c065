// Holds: whether bytes of an interrupted download are used (lib/agent/sources/kept-download.ts)
/** A slow download that is interrupted goes on in the next run with the bytes that came, of which none is believed. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { preview } from "../../../../lib/agent/deployment/preview.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { marketplaceSource } from "../../../../lib/agent/sources/marketplace.ts";
import type { Source } from "../../../../lib/agent/sources/source.ts";
import { inspectTarget } from "../../../../lib/agent/target-status.ts";
import { readAhead } from "../../../../lib/releases/ahead.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readPartial } from "../../../../lib/releases/partial.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { deltaFleet } from "../../../support/host/delta-fleet.ts";
import { mountMemory } from "../../../support/host/loop-file-system.ts";
import { startHub } from "../../../support/hub/harness.ts";
import { DEVELOPER_SECRET } from "../../../support/hub/marketplace-hub.ts";
import { publishedArchive } from "../../../support/hub/published.ts";
import { type SlowLine, startSlowLine } from "../../../support/hub/slow-line.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { until } from "../../../support/until.ts";

/** Bytes that no compression makes fewer. */
const noise = randomBytes(3_000_000);
/** So slow that the artifact takes 20 seconds: bytes are kept after two. */
const SLOW = 150_000;

/** A host, a slow line to its hub, and runs that can be interrupted. */
function hostOf(t: Test, line: SlowLine, source: Source, root = temporaryFolder(t)) {
  const layout = layoutOf(root);
  mkdirSync(layout.sealift);
  const { target } = source;
  const run = async (signal?: AbortSignal, by = source) => {
    const events: AgentEvent[] = [];
    const options = {
      ...DEPLOY_DEFAULTS,
      ...{ projectRoot: root, hostId: "host", supervisor: { name: "none" as const }, durability: "none" as const },
      ...(signal && { signal }),
    };
    const result = await deploy(by, options, (event) => events.push(event));
    const all = <E extends AgentEvent["event"]>(name: E) =>
      events.filter((event): event is Extract<AgentEvent, { event: E }> => event.event === name);
    return { result, all };
  };
  /** Interrupts work after some bytes are kept. @returns how many */
  const interrupted = async (work: (signal: AbortSignal) => Promise<unknown>, least = 100_000): Promise<number> => {
    const stopping = new AbortController();
    line.bytesPerSecond = SLOW;
    const ended = work(stopping.signal).catch(() => {});
    await until(async () => ((await readPartial(layout, target))?.bytes ?? 0) >= least);
    stopping.abort();
    await ended;
    line.bytesPerSecond = Infinity;
    line.downloads.length = 0;
    return (await readPartial(layout, target))!.bytes;
  };
  const passed = (): number => line.downloads.reduce((sum, { bytes }) => sum + bytes, 0);
  return { root, layout, target, partial: layout.partial(target), run, interrupted, passed, line };
}

async function projectHost(t: Test, root?: string) {
  const fleet = await deltaFleet(t);
  fleet.plant("plugins/demo/large.bin", noise);
  await fleet.publish("1.0.0");
  const line = await startSlowLine(t, () => fleet.hubUrl);
  const host = hostOf(t, line, fleet.sourceOf("1.0.0", { hubUrl: line.url }), root);
  return { fleet, ...host, source: fleet.sourceOf("1.0.0", { hubUrl: line.url }) };
}

async function pluginHost(t: Test) {
  const hub = await startHub(t, { rateLimits: false });
  const folder = temporaryFolder(t);
  const plugin = await publishedArchive(hub, "plugin", "tides", folder);
  await plugin.publish("1.0.0", { "large.bin": noise.toString("base64") });
  const line = await startSlowLine(t, () => hub.url);
  const source = marketplaceSource({
    ...{ hubUrl: line.url, apiKey: hub.adminKey, timeoutMs: 10_000, kind: "plugin", slug: "tides", version: "1.0.0" },
    ...{ signingSecret: DEVELOPER_SECRET, installPlan: `${folder}/tides.yaml`, symlinks: "refuse" },
  });
  return { ...hostOf(t, line, source), source };
}

t.jobs = 8;
const beside = (name: string, body: (t: Test) => Promise<unknown>) => t.test(name, { buffered: true }, body);

for (const [what, hostFor] of [
  ["a project", projectHost],
  ["a plugin", pluginHost],
] as const) {
  beside(`${what}: the next run asks only for what is missing`, async (t) => {
    const host = await hostFor(t);
    const { run, interrupted, layout, target, line } = host;
    const kept = await interrupted(async (signal) => {
      const { result, all } = await run(signal);
      t.match(result, { outcome: "failed", error: { code: "interrupted" } });
      t.match(all("partial.kept"), [{ version: "1.0.0", bytes: Number, size_bytes: Number }]);
      const { bytes, size_bytes: size } = all("partial.kept")[0]!;
      t.match(await inspectTarget(layout, target), { partial: { version: "1.0.0", bytes, size } });
    });
    t.equal(statSync(host.partial).mode & 0o777, 0o600);
    const { size } = (await readPartial(layout, target))!;
    const { result, all } = await run();
    t.match(result, { outcome: "deployed", report: String });
    t.match(all("partial.used"), [{ version: "1.0.0", bytes: kept, size_bytes: size }]);
    t.same(all("partial.unusable"), []);
    const whole = line.downloads.filter(({ bytes }) => bytes > 1);
    t.match(whole, [
      { status: 206, range: /^bytes=0-\d+$/, ifRange: /^"sha256-/ },
      { status: 206, range: /^bytes=\d+-$/, ifRange: /^"sha256-/ },
    ]);
    t.equal(whole[0]!.bytes + whole[1]!.bytes, size - kept);
    t.match(all("fetch.done"), [{ bytes: size, kept_bytes: kept }]);
    t.equal((await inspectTarget(layout, target)).lastReport!.bytes, size - kept, "the report counts what was fetched");
    t.notOk(existsSync(host.partial), "and nothing is kept any more");
  });

  beside(`${what}: kept bytes that were changed cost a second fetch in the same run, and blame nothing`, async (t) => {
    const host = await hostFor(t);
    const kept = await host.interrupted((signal) => host.run(signal));
    const bytes = readFileSync(host.partial);
    bytes[bytes.length - 5000]! ^= 1;
    writeFileSync(host.partial, bytes);
    const { size } = (await readPartial(host.layout, host.target))!;
    const { result, all } = await host.run();
    t.match(result, { outcome: "deployed" });
    t.match(all("partial.used"), [{ bytes: kept }]);
    t.match(all("partial.unusable"), [{ version: "1.0.0", code: String, reason: String }]);
    t.ok(host.passed() >= size * 2 - kept, `${host.passed()}`);
    t.same(await readQuarantine(host.layout, host.target), []);
    t.notOk(existsSync(host.partial));
  });

  beside(`${what}: another ETag means other bytes, and all of them are fetched`, async (t) => {
    const host = await hostFor(t);
    await host.interrupted((signal) => host.run(signal));
    host.line.heads = ({ etag: _etag, ...headers }) => ({ ...headers, etag: '"another"' });
    const { result, all } = await host.run();
    t.match(result, { outcome: "deployed" });
    t.same(all("partial.used"), []);
    t.match(all("partial.unusable"), [{ code: "artifact_changed" }]);
    t.notOk(existsSync(host.partial));
  });

  beside(`${what}: an interrupted fetch ahead goes on, and a deployment takes what it left`, async (t) => {
    const host = await hostFor(t);
    const { layout, target, source } = host;
    const ahead = (signal: AbortSignal) => source.fetchAhead!({ layout, target, emit: () => {}, signal });
    const kept = await host.interrupted(ahead);
    const more = await host.interrupted(ahead, kept + 50_000);
    t.ok(more > kept);
    const { all } = await host.run();
    t.match(all("partial.used"), [{ bytes: more }]);
    t.equal(all("ahead.used").length, 0);
    t.notOk(existsSync(host.partial));
  });
}

beside("an interrupted fetch ahead that comes whole leaves nothing but itself", async (t) => {
  const host = await projectHost(t);
  const { layout, target, source } = host;
  const ahead = (signal: AbortSignal) => source.fetchAhead!({ layout, target, emit: () => {}, signal });
  const kept = await host.interrupted(ahead);
  const { size } = (await readPartial(layout, target))!;
  t.match(await ahead(new AbortController().signal), { version: "1.0.0", bytes: size });
  t.equal(host.passed(), size - kept);
  t.match(await readAhead(layout, target), { version: "1.0.0", bytes: size });
  t.notOk(existsSync(host.partial));
});

beside("interrupted again and again, each run adds to what is kept", async (t) => {
  const host = await projectHost(t);
  const first = await host.interrupted((signal) => host.run(signal));
  const second = await host.interrupted((signal) => host.run(signal), first + 100_000);
  const { size } = (await readPartial(host.layout, host.target))!;
  t.ok(second > first);
  const { result, all } = await host.run();
  t.match(result, { outcome: "deployed" });
  t.match(all("partial.used"), [{ bytes: second }]);
  t.equal(host.passed(), size - second);
  t.match(
    host.line.downloads.map(({ range }) => range),
    ["bytes=0-0", /^bytes=\d+-$/],
    "the beginning is kept, too",
  );
});

beside("a dry run keeps nothing, and leaves what is kept as it is", async (t) => {
  const host = await projectHost(t);
  const dry = async () => {
    const stopping = new AbortController();
    const options = {
      ...DEPLOY_DEFAULTS,
      projectRoot: host.root,
      hostId: "host",
      supervisor: { name: "none" as const },
    };
    const ended = preview(host.source, { ...options, signal: stopping.signal }, () => {});
    await until(() => host.passed() > SLOW * 3);
    stopping.abort();
    host.line.downloads.length = 0;
    return ended;
  };
  host.line.bytesPerSecond = SLOW;
  t.match(await dry(), { outcome: "failed" });
  t.notOk(existsSync(host.partial));
  await host.interrupted((signal) => host.run(signal));
  const kept = readFileSync(host.partial);
  host.line.bytesPerSecond = SLOW;
  await dry();
  t.same(readFileSync(host.partial), kept);
});

beside("a fast download keeps nothing", async (t) => {
  const host = await projectHost(t);
  let isKept = false;
  const watcher = setInterval(() => (isKept ||= existsSync(host.partial)), 5);
  const { result } = await host.run();
  clearInterval(watcher);
  t.match(result, { outcome: "deployed" });
  t.equal(isKept, false);
  t.notOk(existsSync(`${host.layout.sealift}/partial`));
});

beside("what the hub cannot give again, and what is too old, cut off or of another version, goes", async (t) => {
  const host = await projectHost(t);
  await host.interrupted((signal) => host.run(signal));
  const whole = readFileSync(host.partial);
  const changed = (from: string, to: string): Buffer => {
    const text = whole.subarray(0, 4096).toString().replace(from, to);
    return Buffer.concat([Buffer.from(text).subarray(0, 4096), whole.subarray(4096)]);
  };
  const { at } = JSON.parse(whole.subarray(0, 4096).toString()) as { at: string };
  const old = new Date(Date.parse(at) - 15 * 24 * 3_600_000).toISOString();
  const { layout, target, partial } = host;
  for (const [what, content] of Object.entries({
    "15 days old": changed(at, old),
    "of another format": changed('"v":1', '"v":2'),
    "cut off in its header": whole.subarray(0, 3000),
    "cut off before its bytes": whole.subarray(0, 5000),
    "nothing but bytes": whole.subarray(4096),
    "an ETag that would add a header": changed('"etag":"\\"sha256-', '"etag":"\\"\\r\\nx: y'),
  })) {
    writeFileSync(partial, content);
    t.equal(await readPartial(layout, target), undefined, what);
    const { result, all } = await host.run();
    t.match(result, { outcome: /deployed|unchanged/ }, what);
    t.same(all("partial.used"), [], what);
    t.notOk(existsSync(partial), what);
  }
});

beside("kept bytes of another signer of the same version are not used", async (t) => {
  const host = await projectHost(t);
  await host.interrupted((signal) => host.run(signal));
  const whole = readFileSync(host.partial);
  const { signature } = JSON.parse(whole.subarray(0, 4096).toString()) as { signature: string };
  const other = Buffer.from(signature, "base64");
  other[3]! ^= 1;
  const text = whole.subarray(0, 4096).toString().replace(signature, other.toString("base64"));
  writeFileSync(host.partial, Buffer.concat([Buffer.from(text), whole.subarray(4096)]));
  const { result, all } = await host.run();
  t.match(result, { outcome: "deployed" });
  t.same(all("partial.used"), []);
  t.match(host.line.downloads, [{ range: undefined, status: 200 }]);
  t.notOk(existsSync(host.partial));
});

beside("another version drops what was kept", async (t) => {
  const host = await projectHost(t);
  await host.interrupted((signal) => host.run(signal));
  await host.fleet.publish("1.1.0");
  const { result, all } = await host.run(undefined, host.fleet.sourceOf("1.1.0"));
  t.match(result, { outcome: "deployed", version: "1.1.0" });
  t.same(all("partial.used"), []);
  t.notOk(existsSync(host.partial));
});

beside("a tail that a power cut has lost is fetched again", async (t) => {
  const host = await projectHost(t);
  const kept = await host.interrupted((signal) => host.run(signal));
  truncateSync(host.partial, statSync(host.partial).size - 30_000);
  const { result, all } = await host.run();
  t.match(result, { outcome: "deployed" });
  t.match(all("partial.used"), [{ bytes: kept - 30_000 }]);
});

beside("bytes of a slow mirror go on with those of the hub, and no mirror is blamed for kept ones", async (t) => {
  const { fleet, ...host } = await projectHost(t);
  const mirrored = fleet.sourceOf("1.0.0", { mirrors: [host.line.url] });
  const kept = await host.interrupted((signal) => host.run(signal, mirrored));
  const { result, all } = await host.run(undefined, fleet.sourceOf("1.0.0"));
  t.match(result, { outcome: "deployed" });
  t.match(all("partial.used"), [{ bytes: kept }]);
  t.equal(host.passed(), 0, "all of it from the hub itself");

  const other = hostOf(t, host.line, mirrored);
  await other.interrupted((signal) => other.run(signal));
  const own = readFileSync(other.partial);
  own[own.length - 3]! ^= 1;
  writeFileSync(other.partial, own);
  const again = await other.run();
  t.match(again.result, { outcome: "deployed" });
  t.equal(again.all("partial.unusable").length, 1);
  t.same(again.all("warning"), [], "the mirror's bytes were right");
});

beside("a mirror that lies about the rest costs the kept bytes, then itself", async (t) => {
  const { fleet, ...host } = await projectHost(t);
  const mirrored = fleet.sourceOf("1.0.0", { mirrors: [host.line.url] });
  await host.interrupted((signal) => host.run(signal, mirrored));
  host.line.pieces = (piece) => Buffer.from(piece.map((byte) => byte ^ 1));
  const { result, all } = await host.run(undefined, mirrored);
  t.match(result, { outcome: "deployed" });
  t.equal(all("partial.unusable").length, 1);
  t.match(all("warning"), [{ message: /mirror/ }]);
  t.notOk(existsSync(host.partial));
});

beside("a line that fails while the rest comes costs nothing of what is kept", async (t) => {
  const host = await projectHost(t);
  const kept = await host.interrupted((signal) => host.run(signal));
  host.line.bytesPerSecond = SLOW;
  host.line.heads = (headers) => {
    setTimeout(() => host.line.cut(), 300);
    return headers;
  };
  const failing = host.run();
  await until(() => host.line.downloads.length > 2);
  host.line.heads = (headers) => headers;
  host.line.bytesPerSecond = Infinity;
  const { result, all } = await failing;
  t.match(result, { outcome: "deployed" });
  t.same(all("partial.unusable"), []);
  t.match(all("partial.used"), [{ bytes: kept }]);
});

const [small, filling] = [mountMemory(t, 8_000_000), mountMemory(t, 14_000_000)];
const skip = "reason" in small ? small.reason : false;

t.test(
  "a disk without room for more than the deployment keeps nothing, and is deployed to",
  { skip, buffered: true },
  async (t) => {
    const host = await projectHost(t, (small as { folder: string }).folder);
    host.line.bytesPerSecond = SLOW;
    const running = host.run();
    await until(() => host.passed() > SLOW * 3);
    t.notOk(existsSync(host.partial));
    host.line.bytesPerSecond = Infinity;
    const { result, all } = await running;
    t.match(result, { outcome: "deployed" });
    t.match(all("warning"), [{ message: /not kept for another run: the disk has no room/ }]);
  },
);

t.test("a disk that fills up meanwhile gets the room of the kept bytes back", { skip, buffered: true }, async (t) => {
  const { folder } = filling as { folder: string };
  const host = await projectHost(t, folder);
  host.line.bytesPerSecond = SLOW;
  const running = host.run();
  await until(async () => ((await readPartial(host.layout, host.target))?.bytes ?? 0) > 100_000);
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, "filler"), Buffer.alloc(bavail * bsize - 4_500_000));
  host.line.bytesPerSecond = Infinity;
  const { result, all } = await running;
  t.match(result, { outcome: "deployed" });
  t.match(all("warning"), [{ message: /not kept for another run/ }]);
  t.notOk(existsSync(host.partial));
});

beside("a place that cannot be written ends the keeping, never the deployment", async (t) => {
  const host = await projectHost(t);
  writeFileSync(`${host.layout.sealift}/partial`, "in the way");
  host.line.bytesPerSecond = SLOW;
  const running = host.run();
  await until(() => host.passed() > SLOW * 3);
  host.line.bytesPerSecond = Infinity;
  const { result, all } = await running;
  t.match(result, { outcome: "deployed" });
  t.match(all("warning"), [{ message: /not kept for another run: something else stands in its place/ }]);
});
