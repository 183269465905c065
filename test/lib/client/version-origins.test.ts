import { createServer } from "node:http";
import t, { type Test } from "tap";
import { originText, VersionOrigins } from "../../../lib/client/version-origins.ts";

const version = (label: string, published_by: string | null, approved_by: string | null) => ({
  ...{ version: label, created_at: "2026-01-01T00:00:00.000Z", size_bytes: 1, sha256: "0".repeat(64) },
  ...{ signer_public_key: null, is_latest: false, is_yanked: false, yanked_reason: null, published_by, approved_by },
});

const PAGES: Record<string, object> = {
  "": { items: [version("1.2.0", "ci", "anna"), version("1.1.0", "ci", null)], next: "older" },
  older: { items: [version("1.0.0", null, null)], next: null },
};

/** Starts a hub that lists the versions of one project, or refuses to. @returns the requests that it got */
async function listing(t: Test, status = 200) {
  const asked: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    asked.push(url);
    const cursor = new URL(url, "http://hub").searchParams.get("cursor") ?? "";
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(status === 200 ? PAGES[cursor] : { error: "no" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const hub = { hubUrl: `http://127.0.0.1:${port}`, apiKey: "key", timeoutMs: 5000 };
  return { asked, origins: new VersionOrigins({ kind: "project", slug: "prj_0123456789" }, hub) };
}

t.test("publishers and approvers are asked for once, and further back only for older versions", async (t) => {
  const { asked, origins } = await listing(t);
  t.equal(await origins.of(null), undefined);
  t.equal(asked.length, 0, "nothing runs, and nothing is asked");
  t.strictSame(await origins.of("1.2.0"), { published_by: "ci", approved_by: "anna" });
  t.strictSame(await origins.of("1.1.0"), { published_by: "ci", approved_by: null });
  t.equal(asked.length, 1);
  t.strictSame(await origins.of("1.0.0"), { published_by: null, approved_by: null });
  t.equal(await origins.of("0.9.0"), undefined);
  t.equal(await origins.of("0.8.0"), undefined);
  t.equal(asked.length, 2);
});

t.test("a key that may not list versions learns nothing, and asks once", async (t) => {
  const { asked, origins } = await listing(t, 403);
  t.equal(await origins.of("1.2.0"), undefined);
  t.equal(await origins.of("1.1.0"), undefined);
  t.equal(asked.length, 1);
});

t.test("an origin reads as one phrase", (t) => {
  t.equal(originText({ published_by: "ci", approved_by: "anna" }), "ci, approved by anna");
  t.equal(originText({ published_by: null, approved_by: null }), "–");
  const statements = ["provenance", "sbom"];
  t.equal(originText({ published_by: "ci", approved_by: null, statements }), "ci (provenance, sbom)");
  t.equal(originText({ published_by: "ci", approved_by: "anna", statements: [] }), "ci, approved by anna");
  t.end();
});
