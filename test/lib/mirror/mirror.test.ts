// Holds: what a mirror asks the hub first (lib/mirror/hub-artifacts.ts)
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { mountMemory } from "../../support/host/loop-file-system.ts";
import { sha256 } from "../../support/hub/harness.ts";
import { countedHub, get, startMirror } from "../../support/hub/mirrored.ts";
import { type Answer, startScripted } from "../../support/hub/scripted-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const cachedIn = (folder: string): string[] => readdirSync(join(folder, "artifacts")).toSorted();

t.test("a download costs the hub its bytes once, and a question each time", async (t) => {
  const { door, publish, downloads } = await countedHub(t);
  const mirror = await startMirror(t, door.url);
  const { bytes, path, locate } = await publish("1.0.0");
  for (const url of [path, path, await locate()]) {
    const { status, bytes: got, headers } = await get(mirror.url + url);
    t.equal(status, 200);
    t.ok(got.equals(bytes));
    t.equal(headers["etag"], `"sha256-${sha256(bytes)}"`);
  }
  t.equal(downloads().length, 1);
  t.equal(door.passages.length, 4);
  t.strictSame(cachedIn(mirror.cacheDir), [sha256(bytes)]);
  t.notOk(door.passages.some(({ headers }) => "authorization" in headers || "x-api-key" in headers));
});

t.test("fifty callers at once cost one download", async (t) => {
  const { door, publish, downloads } = await countedHub(t);
  const mirror = await startMirror(t, door.url);
  const { bytes, path } = await publish("1.0.0", 2_000_000);
  // On a busy machine a hub sheds load: its callers come again.
  const served = async (): ReturnType<typeof get> => {
    const answer = await get(mirror.url + path);
    return answer.status === 503 ? served() : answer;
  };
  const answers = await Promise.all(Array.from({ length: 50 }, served));
  t.ok(answers.every(({ status, bytes: got }) => status === 200 && got.equals(bytes)));
  t.equal(downloads().length, 1);
  const granted = door.passages.filter(({ status }) => status === 200 || status === 206);
  const sent = granted.reduce((sum, { bytes: body = 0 }) => sum + body, 0);
  t.equal(sent, bytes.length + granted.length - 1, "the artifact, and a byte for each question");
});

t.test("ranges and conditions are answered as the hub does, cached and not", async (t) => {
  const { hub, door, publish, downloads } = await countedHub(t);
  const mirror = await startMirror(t, door.url);
  const { bytes, path } = await publish("1.0.0");
  const etag = `"sha256-${sha256(bytes)}"`;
  const asked: Record<string, string>[] = [
    { range: "bytes=100-199" },
    { range: "bytes=299990-" },
    { range: "bytes=-10", "if-range": etag },
    { range: "bytes=100-199", "if-range": '"another"' },
    { range: "bytes=0-1,5-6" },
    { range: "bytes=300000-" },
    { range: "bytes=-999999" },
    { range: "lines=1-2" },
    { "if-none-match": etag },
    { "if-none-match": `W/${etag}` },
    { "if-none-match": `"another", ${etag}` },
    { "if-none-match": "*" },
    { "if-none-match": '"another", W/"third"' },
    {},
  ];
  const names = ["etag", "content-range", "content-length", "accept-ranges"];
  for (const headers of asked) {
    for (const method of ["GET", "HEAD"]) {
      const expected = await get(hub.url + path, headers, method);
      const found = await get(mirror.url + path, headers, method);
      const what = `${method} ${JSON.stringify(headers)}`;
      t.equal(found.status, expected.status, what);
      if (expected.status === 416) continue;
      t.ok(found.bytes.equals(expected.bytes), what);
      if (expected.status === 304) continue;
      for (const name of names) t.equal(found.headers[name], expected.headers[name], `${what}: ${name}`);
    }
  }
  t.equal(downloads().length, 1);
});

t.test("a caller without rights gets the hub's answer, cached or not", async (t) => {
  const { hub, door, publish } = await countedHub(t);
  const mirror = await startMirror(t, door.url);
  const { path } = await publish("1.0.0");
  await get(mirror.url + path);
  const forged = path.replace(/signature=.{8}/, "signature=00000000");
  for (const url of [forged, path.replace(/art_\w+/, "art_other")]) {
    const expected = await get(hub.url + url);
    const found = await get(mirror.url + url);
    t.equal(found.status, 403);
    t.strictSame(JSON.parse(found.bytes.toString()), JSON.parse(expected.bytes.toString()));
  }
});

t.test("the hub is asked for downloads only", async (t) => {
  const { door } = await countedHub(t);
  const mirror = await startMirror(t, door.url);
  const download = "/app/deploy/v1/downloads/art_1?expires=1&signature=00";
  for (const path of ["/", "/app/deploy/v1/auth", "/devkeys/api-keys", `${download}&x=1`, `/../${download}`, "/%00"])
    t.equal((await get(mirror.url + path)).status, 404, path);
  t.match(await get(mirror.url + download, {}, "POST"), { status: 405, headers: { allow: "GET, HEAD" } });
  t.equal((await get(`${mirror.url}/healthz`)).status, 200);
  t.strictSame(door.passages, []);
});

t.test("roots that the operator has put there are served as they are, to anybody, and asked of nobody", async (t) => {
  const { door } = await countedHub(t);
  const rootsDir = temporaryFolder(t);
  const mirror = await startMirror(t, door.url, { rootsDir });
  const id = `rt_${"0a".repeat(16)}`;
  const path = `/roots/${id}/2.root.json`;
  t.equal((await get(mirror.url + path)).status, 404, "not there yet");
  mkdirSync(join(rootsDir, id));
  writeFileSync(join(rootsDir, id, "2.root.json"), '{"signed":{}}\n');
  t.match(await get(mirror.url + path), {
    status: 200,
    headers: { "content-type": "application/json", "content-length": "14" },
    bytes: Buffer.from('{"signed":{}}\n'),
  });
  t.match(await get(mirror.url + path, {}, "HEAD"), {
    status: 200,
    headers: { "content-length": "14" },
    bytes: Buffer.of(),
  });
  t.match(await get(mirror.url + path, {}, "PUT"), { status: 405 });
  writeFileSync(join(rootsDir, "2.root.json"), "another");
  for (const other of [
    `/roots/2.root.json`,
    `/roots/${id}/../2.root.json`,
    `/roots/${id}/02.root.json`,
    `/roots/${id}/1.root.json`,
  ])
    t.equal((await get(mirror.url + other)).status, 404, other);
  const none = await startMirror(t, door.url);
  t.equal((await get(none.url + path)).status, 404, "a mirror without a folder of roots");
  t.strictSame(door.passages, []);
});

t.test("a file of a root that cannot be sent ends the answer, not the mirror", async (t) => {
  const { door } = await countedHub(t);
  const rootsDir = temporaryFolder(t);
  const mirror = await startMirror(t, door.url, { rootsDir });
  const id = `rt_${"0a".repeat(16)}`;
  mkdirSync(join(rootsDir, id, "1.root.json"), { recursive: true });
  writeFileSync(join(rootsDir, id, "2.root.json"), Buffer.alloc(64 * 1024 + 1));
  for (const version of [1, 2]) await t.rejects(get(`${mirror.url}/roots/${id}/${version}.root.json`));
  t.equal((await get(`${mirror.url}/healthz`)).status, 200);
});

t.test("while the hub is away, a URL that it accepted goes on working for what is cached", async (t) => {
  const { door, publish } = await countedHub(t);
  const mirror = await startMirror(t, door.url);
  const { bytes, path, locate } = await publish("1.0.0");
  await get(mirror.url + path);
  const unseen = await locate();
  for (const trouble of [{ kind: "lost", heard: false } as const, { kind: "answer", status: 503 } as const]) {
    door.trouble = () => trouble;
    t.ok((await get(mirror.url + path)).bytes.equals(bytes));
    const other = unseen === path ? unseen.replace(/signature=.{8}/, "signature=00000000") : unseen;
    t.ok((await get(mirror.url + other)).status >= 502, "nobody has vouched for this one");
  }
  const forged = path.replace(/signature=.{8}/, "signature=00000000");
  t.ok((await get(mirror.url + forged)).status >= 502);
});

t.test("the least recently used go when the quota is reached, and what is larger passes through", async (t) => {
  const { door, publish } = await countedHub(t);
  const mirror = await startMirror(t, door.url, { quotaBytes: 700_000 });
  const [one, two, three] = [await publish("1.0.0"), await publish("2.0.0"), await publish("3.0.0")];
  for (const { path } of [one, two, one, three]) await get(mirror.url + path);
  t.strictSame(cachedIn(mirror.cacheDir), [sha256(one.bytes), sha256(three.bytes)].toSorted());
  const large = await publish("4.0.0", 800_000);
  t.ok((await get(mirror.url + large.path)).bytes.equals(large.bytes));
  t.strictSame(cachedIn(mirror.cacheDir), [sha256(one.bytes), sha256(three.bytes)].toSorted());
});

t.test("a cached file that was changed is found, and fetched again", async (t) => {
  const { door, publish, downloads } = await countedHub(t);
  const mirror = await startMirror(t, door.url);
  const { bytes, path } = await publish("1.0.0");
  await get(mirror.url + path);
  const file = join(mirror.cacheDir, "artifacts", sha256(bytes));
  const changes = [
    () => writeFileSync(file, Buffer.alloc(bytes.length)),
    () => appendFileSync(file, "more"),
    () => writeFileSync(file, ""),
  ];
  for (const [index, change] of changes.entries()) {
    change();
    t.ok((await get(mirror.url + path)).bytes.equals(bytes));
    t.ok(readFileSync(file).equals(bytes));
    t.equal(downloads().length, index + 2);
  }
});

t.test("a mirror that starts again keeps what is whole, and checks it first", async (t) => {
  const { door, publish, downloads } = await countedHub(t);
  const first = await startMirror(t, door.url);
  const [one, two] = [await publish("1.0.0"), await publish("2.0.0")];
  for (const { path } of [one, two]) await get(first.url + path);
  const { cacheDir } = first;
  await t.rejects(startMirror(t, door.url, { cacheDir }), { code: "config_invalid" }, "one mirror to a folder");
  await first.close();
  // As a kill in the middle of a download leaves it, and as a disk that has lost a block.
  writeFileSync(join(cacheDir, "incoming", "0"), one.bytes.subarray(0, 1000));
  const damaged = Buffer.from(two.bytes);
  damaged[1000] = damaged[1000]! ^ 1;
  writeFileSync(join(cacheDir, "artifacts", sha256(two.bytes)), damaged);
  const second = await startMirror(t, door.url, { cacheDir });
  t.strictSame(readdirSync(join(cacheDir, "incoming")), []);
  for (const { path, bytes } of [one, two]) t.ok((await get(second.url + path)).bytes.equals(bytes));
  t.equal(downloads().length, 3);
});

t.test("a download that the hub cuts off is taken up again, and nothing wrong is ever kept", async (t) => {
  const { door, publish } = await countedHub(t);
  const mirror = await startMirror(t, door.url);
  const { bytes, path } = await publish("1.0.0");
  let left = 1;
  door.trouble = ({ headers }) =>
    headers.range !== "bytes=0-0" && left-- > 0 ? { kind: "truncated" } : { kind: "none" };
  t.ok((await get(mirror.url + path)).bytes.equals(bytes));
  t.equal(statSync(join(mirror.cacheDir, "artifacts", sha256(bytes))).size, bytes.length);
});

t.test("bytes pass through when the disk is full, also when it becomes full on the way", async (t) => {
  const mounted = mountMemory(t, 1_000_000);
  if ("reason" in mounted) return void t.comment(`not tried: ${mounted.reason}`);
  const { door, publish } = await countedHub(t);
  const { folder: cacheDir } = mounted;
  const mirror = await startMirror(t, door.url, { cacheDir });
  const large = await publish("1.0.0", 3_000_000);
  t.ok((await get(mirror.url + large.path)).bytes.equals(large.bytes), "larger than the disk");
  const [one, two] = [await publish("2.0.0", 600_000), await publish("3.0.0", 600_000)];
  for (const { path, bytes } of [one, two]) t.ok((await get(mirror.url + path)).bytes.equals(bytes));
  t.strictSame(cachedIn(cacheDir), [sha256(two.bytes)], "the older one has made room");
  // The room that was there is gone while the bytes come.
  const three = await publish("4.0.0", 300_000);
  door.trouble = ({ headers }) => {
    if (headers.range !== "bytes=0-0") fillUp(join(cacheDir, "ballast"));
    return { kind: "none" };
  };
  t.ok((await get(mirror.url + three.path)).bytes.equals(three.bytes));
  t.strictSame(readdirSync(join(cacheDir, "incoming")), []);
});

/** Answers as a hub would that names `named` and sends what `whole` says. */
const upstream = (t: Test, named: Buffer, whole: Answer) =>
  startScripted(t, {
    routes: [[/\/v1\/downloads\//, "download"]],
    truth: () => (response, request, count) => {
      const etag = `"sha256-${sha256(named)}"`;
      if (request.headers.range !== "bytes=0-0") return whole(response, request, count);
      response.writeHead(206, { etag, "content-range": `bytes 0-0/${named.length}`, "content-length": 1 });
      response.end("x");
    },
  });
const PATH = `/app/deploy/v1/downloads/art_1?expires=${9e9}&signature=00`;

t.test("bytes that the hub did not name are neither kept nor given to their end", async (t) => {
  const named = randomBytes(100_000);
  const etag = `"sha256-${sha256(named)}"`;
  const gives =
    (bytes: Buffer, length = bytes.length): Answer =>
    (response) => {
      response.writeHead(200, { etag, "content-length": length });
      response.end(bytes);
    };
  const endless: Answer = (response) => {
    response.writeHead(200, { etag });
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  };
  const lies = [
    gives(randomBytes(named.length)),
    gives(Buffer.concat([named, Buffer.from("x")])),
    gives(named.subarray(1)),
    endless,
  ];
  for (const [index, lie] of lies.entries()) {
    const hub = await upstream(t, named, lie);
    const mirror = await startMirror(t, hub.url);
    await t.rejects(get(mirror.url + PATH), `lie ${index}`);
    await mirror.close();
    t.strictSame(cachedIn(mirror.cacheDir), []);
    t.strictSame(readdirSync(join(mirror.cacheDir, "incoming")), []);
  }
});

t.test("a hub that drips is given up", async (t) => {
  const named = randomBytes(100_000);
  const hub = await upstream(t, named, (response) => {
    response.writeHead(200, { etag: `"sha256-${sha256(named)}"`, "content-length": named.length });
    const timer = setInterval(() => response.write("x"), 10);
    response.once("close", () => clearInterval(timer));
  });
  const mirror = await startMirror(t, hub.url, { leastRate: { bytesPerSecond: 10_000, overMs: 200 } });
  await t.rejects(get(mirror.url + PATH));
});

t.test("a mirror that is killed while it caches leaves no half entry and no lock", async (t) => {
  const bytes = randomBytes(200_000);
  const begun = Promise.withResolvers<void>();
  let isWhole = false;
  const hub = await upstream(t, bytes, (response) => {
    response.writeHead(200, { etag: `"sha256-${sha256(bytes)}"`, "content-length": bytes.length });
    if (isWhole) response.end(bytes);
    else response.write(bytes.subarray(0, 100_000), () => begun.resolve());
  });
  const cacheDir = temporaryFolder(t);
  const program = fileURLToPath(new URL("../../support/programs/mirror-program.ts", import.meta.url));
  const child = spawn(process.execPath, [program, hub.url, cacheDir], { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const answer = get(line.toString().trim() + PATH);
  answer.catch(() => {});
  await begun.promise;
  child.kill("SIGKILL");
  await once(child, "close");
  await t.rejects(answer);
  t.strictSame(cachedIn(cacheDir), []);
  isWhole = true;
  const second = await startMirror(t, hub.url, { cacheDir });
  t.strictSame(readdirSync(join(cacheDir, "incoming")), []);
  t.ok((await get(second.url + PATH)).bytes.equals(bytes));
  t.strictSame(cachedIn(cacheDir), [sha256(bytes)]);
});

/** Writes until the disk is full. */
function fillUp(file: string): void {
  try {
    for (;;) appendFileSync(file, Buffer.alloc(16_384));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
