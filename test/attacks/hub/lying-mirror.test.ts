// Only in test:all: a mirror for each lie, 13 s of a processor.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { LocalReport } from "../../../lib/contract/surfaces/reports.ts";
import { deltaFleet } from "../../support/host/delta-fleet.ts";
import { startMirror } from "../../support/hub/mirrored.ts";
import { type Answer, hangUp, html, json, redirect, startScripted } from "../../support/hub/scripted-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Mirrors that lie cost a host a warning, and no more: it runs what the publisher signed, in the same run. */

/** Answers with bytes as a cache would, whatever they are. */
const gives =
  (bytes: Buffer, length: number | undefined = bytes.length): Answer =>
  (response) => {
    response.writeHead(200, { ...(length !== undefined && { "content-length": length }), etag: '"sha256-1"' });
    response.end(bytes);
  };

const endless: Answer = (response) => {
  response.writeHead(200, { etag: '"sha256-1"' });
  const more = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
};

/** Sends the beginning of the right bytes and hangs up. */
const half =
  (bytes: Buffer, etag: string): Answer =>
  (response) => {
    response.writeHead(200, { "content-length": bytes.length, etag });
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  };

const drips =
  (bytes: Buffer): Answer =>
  (response) => {
    response.writeHead(200, { "content-length": bytes.length });
    const timer = setInterval(() => response.write("x"), 20);
    response.once("close", () => clearInterval(timer));
  };

const liar = (t: Test) =>
  startScripted(t, { routes: [[/\/v1\/downloads\//, "download"]], truth: () => json(404, { error: "no such route" }) });

/** Takes a download's bytes as an agent without a mirror gets them. */
async function watchedBytes(url: string): Promise<{ bytes: Buffer; etag: string }> {
  const answer = await fetch(url);
  return { bytes: Buffer.from(await answer.arrayBuffer()), etag: answer.headers.get("etag")! };
}

t.test("whatever a mirror sends, the host runs what was published, and names the mirror", async (t) => {
  const fleet = await deltaFleet(t);
  for (const version of ["1.0.0", "2.0.0"]) await fleet.publish(version);
  const mirror = await liar(t);
  // The first run through it shows which URL it is asked for, of which it then knows the bytes.
  const bytesOf = async (version: string) => {
    const root = temporaryFolder(t);
    mirror.repent();
    await fleet.deployTo(root, version, { mirrors: [mirror.url], delta: false });
    return { root, ...(await watchedBytes(fleet.hubUrl + mirror.to("download")[0]!.path)) };
  };
  const [older, newer] = [await bytesOf("1.0.0"), await bytesOf("2.0.0")];
  const expected = fleet.release(newer.root);
  const { bytes, etag } = newer;
  const same = Buffer.from(bytes);
  same[bytes.length >> 1]! ^= 1;

  const lies: Record<string, Answer> = {
    "other bytes of the same length": gives(randomBytes(bytes.length)),
    "one bit": gives(same),
    "an older artifact, cut or filled up to the length": gives(
      Buffer.concat([older.bytes, Buffer.alloc(bytes.length)]).subarray(0, bytes.length),
    ),
    "fewer bytes": gives(bytes.subarray(0, 1000)),
    "more bytes": gives(Buffer.concat([bytes, Buffer.from("more")])),
    "no end": endless,
    "a byte now and then": drips(bytes),
    "a page": html,
    "a refusal": json(403, { error: "no" }),
    "no answer": hangUp,
    "a redirect to another origin": redirect(302, `${fleet.hubUrl}/healthz`),
    "half of the right bytes": half(bytes, etag),
    "half of the wrong bytes under the right name": half(randomBytes(bytes.length), etag),
  };
  for (const [lie, answer] of Object.entries(lies)) {
    mirror.repent();
    mirror.answer("download", answer);
    const root = temporaryFolder(t);
    const leastRate = { bytesPerSecond: 10_000, overMs: 300 };
    const { result, events } = await fleet.deployTo(root, "2.0.0", { mirrors: [mirror.url], delta: false, leastRate });
    t.equal(result.outcome, "deployed", `${lie}: ${result.error?.message}`);
    t.strictSame(fleet.release(root), expected, lie);
    const { warnings } = JSON.parse(readFileSync(result.report!, "utf8")) as LocalReport;
    t.ok(
      warnings.some((text) => text.includes(mirror.url)),
      `${lie}: the report names the mirror`,
    );
    t.ok(
      events.some((event) => event.event === "warning" && event.message.includes(mirror.url)),
      lie,
    );
    // A kept connection that ends without an answer may have been closed before: the request is sent once more.
    const most = lie === "no answer" ? 2 : 1;
    t.ok(mirror.to("download").length <= most, `${lie}: it is asked no more often`);
    for (const { headers, body } of mirror.requests) {
      t.strictSame([headers.authorization, headers["x-api-key"]], [undefined, undefined], "no key reaches a mirror");
      t.equal(body.length, 0);
    }
  }
});

t.test("a delta comes through a mirror, too, and past one that lies", async (t) => {
  const fleet = await deltaFleet(t);
  await fleet.publish("1.0.0");
  const [plain, lied, mirrored] = [temporaryFolder(t), temporaryFolder(t), temporaryFolder(t)];
  for (const root of [plain, lied, mirrored]) await fleet.deployTo(root, "1.0.0");
  await fleet.publish("2.0.0");
  await fleet.deployTo(plain, "2.0.0");
  const expected = fleet.release(plain);
  const bad = await liar(t);
  bad.answer("download", (response, request, count) => {
    void fetch(fleet.hubUrl + request.path, { method: "HEAD" }).then(({ headers }) =>
      gives(randomBytes(Number(headers.get("content-length"))))(response, request, count),
    );
  });
  const good = await startMirror(t, fleet.hubUrl);
  const cases = [
    { root: lied, mirrors: [bad.url], names: [bad.url] },
    { root: mirrored, mirrors: ["http://127.0.0.1:9", bad.url, good.url], names: ["http://127.0.0.1:9", bad.url] },
  ];
  for (const { root, mirrors, names } of cases) {
    const { result, events, find } = await fleet.deployTo(root, "2.0.0", { mirrors });
    t.equal(result.outcome, "deployed");
    t.strictSame(fleet.release(root), expected);
    t.ok(find("delta.chosen") !== undefined && find("delta.failed") === undefined);
    const warnings = events.flatMap((event) => (event.event === "warning" ? [event.message] : []));
    t.equal(warnings.length, names.length);
    for (const name of names)
      t.ok(
        warnings.some((text) => text.includes(name)),
        name,
      );
  }
});

t.test("hosts behind an honest mirror take nothing from the hub but answers", async (t) => {
  const fleet = await deltaFleet(t);
  await fleet.publish("1.0.0");
  const mirror = await startMirror(t, fleet.hubUrl);
  const roots = [temporaryFolder(t), temporaryFolder(t)];
  for (const root of roots) {
    // A root of the mirror may end with a slash.
    const { result, events } = await fleet.deployTo(root, "1.0.0", { mirrors: [`${mirror.url}/`] });
    t.equal(result.outcome, "deployed");
    t.notOk(events.some(({ event }) => event === "warning"));
  }
  t.strictSame(fleet.release(roots[0]!), fleet.release(roots[1]!));
  t.ok(readFileSync(join(mirror.cacheDir, "lock")));
});

t.test("a credential that the hub refuses is not a mirror's fault", async (t) => {
  const fleet = await deltaFleet(t);
  await fleet.publish("1.0.0");
  const mirror = await startMirror(t, fleet.hubUrl);
  const refused = { mirrors: [mirror.url], deploymentCredential: "dcr_nobody" };
  const { result, events } = await fleet.deployTo(temporaryFolder(t), "1.0.0", refused);
  t.equal(result.outcome, "failed");
  t.equal(result.error?.kind, "AuthenticationError");
  t.notOk(events.some(({ event }) => event === "warning"));
});
