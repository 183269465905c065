// Holds: what a download URL proves (lib/hub/access/download-urls.ts)
import t from "tap";
import {
  createProject,
  isErrorBody,
  publication,
  type RunningHub,
  sha256,
  startHub,
} from "../../support/hub/harness.ts";

async function publishedArtifact(hub: RunningHub, size = 10_000) {
  const project = await createProject(hub);
  const what = publication("1.0.0", { size });
  await project.publish(what);
  const bearer = await project.session();
  const locate = async () => {
    const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`;
    return (await hub.call("GET", path, { bearer })).body.download_url as string;
  };
  return { what, locate, url: await locate() };
}

t.test("download URLs come from the public URL, never from the request's Host", async (t) => {
  const hub = await startHub(t, { publicUrl: "https://hub.example.org/base/" });
  const { url } = await publishedArtifact(hub);
  t.match(
    url,
    /^https:\/\/hub\.example\.org\/base\/app\/deploy\/v1\/downloads\/art_\w+\?expires=\d+&key=key_\w+&signature=[0-9a-f]{64}$/,
  );
});

t.test("a download answers ranges, conditions and HEAD", async (t) => {
  const hub = await startHub(t);
  const { what, url } = await publishedArtifact(hub);
  const get = (headers: Record<string, string> = {}, method = "GET") => hub.call(method, url, { key: null, headers });
  const etag = `"sha256-${sha256(what.bytes)}"`;

  const whole = await get();
  t.equal(whole.status, 200);
  t.equal(whole.headers.get("etag"), etag);
  t.equal(whole.headers.get("accept-ranges"), "bytes");
  t.equal(whole.headers.get("content-length"), "10000");
  t.equal(whole.headers.get("content-type"), "application/octet-stream");
  t.equal(whole.headers.get("cache-control"), "private");

  for (const [range, from, to] of [
    ["bytes=100-199", 100, 200],
    ["bytes=9990-", 9990, 10_000],
    ["bytes=-7", 9993, 10_000],
    ["bytes=0-99999", 0, 10_000],
  ] as const) {
    const part = await get({ range });
    t.equal(part.status, 206, range);
    t.equal(part.headers.get("content-range"), `bytes ${from}-${to - 1}/10000`);
    t.equal(part.headers.get("content-length"), String(to - from));
    t.ok(part.bytes.equals(what.bytes.subarray(from, to)));
  }

  const outside = await get({ range: "bytes=10000-" });
  isErrorBody(t, outside, 416, "bad_request");
  t.equal(outside.headers.get("content-range"), "bytes */10000");
  for (const range of ["bytes=5-1,9-2", "lines=1-2", "bytes=abc", "bytes=0-1,5-6"]) {
    const answer = await get({ range });
    t.ok(answer.status === 200 || answer.status === 416, `${range}: ${answer.status}`);
  }

  t.equal((await get({ range: "bytes=0-9", "if-range": etag })).status, 206);
  t.equal((await get({ range: "bytes=0-9", "if-range": '"sha256-other"' })).status, 200);
  t.equal(
    (await get({ range: "bytes=0-9", "if-range": `W/${etag}` })).status,
    200,
    "a weak tag is not a condition for a range",
  );

  const unchanged = await get({ "if-none-match": `"x", ${etag}` });
  t.equal(unchanged.status, 304);
  t.equal(unchanged.bytes.length, 0);
  t.equal(unchanged.headers.get("etag"), etag);

  const head = await get({}, "HEAD");
  t.equal(head.status, 200);
  t.equal(head.headers.get("content-length"), "10000");
  t.equal(head.bytes.length, 0);
});

t.test("a forged or expired download URL is refused", async (t) => {
  let now = Date.parse("2026-03-01T12:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  const { url, locate } = await publishedArtifact(hub);
  const get = (changed: string) => hub.call("GET", changed, { key: null });
  t.equal((await get(url)).status, 200);
  isErrorBody(
    t,
    await get(url.replace(/(?<=signature=)../, (first) => (first === "00" ? "01" : "00"))),
    403,
    "forbidden",
  );
  isErrorBody(t, await get(url.replace(/expires=\d+/, "expires=9999999999")), 403, "forbidden");
  isErrorBody(t, await get(url.replace(/art_\w\w/, "art_ff")), 403, "forbidden");
  isErrorBody(t, await get(url.replace(/\?.*/, "")), 403, "forbidden");
  now += 15 * 60_000;
  isErrorBody(t, await get(url), 403, "forbidden");
  t.equal((await get(await locate())).status, 200, "asking again gives a new one");
});
