import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { followFleet } from "../../../lib/tui/fleet-feed.ts";
import { FleetModel } from "../../../lib/tui/fleet-model.ts";
import { until } from "../../support/until.ts";

t.test(
  "a fleet is read whole once, then only what changes; an outage is shown and ends by itself",
  { timeout: 60_000 },
  async (t) => {
    const asked: { since: string | null; etag: string | undefined }[] = [];
    let away = false;
    let changes = 2;
    const record = (version: string) => ({ version, status: "success", completed_at: null });
    const days = [{ day: "2026-11-26", versions: [{ version: "1.0.0", hosts: 2 }], failing: 0 }];
    let askedForDays = 0;
    const server = createServer((request, response) => {
      if (request.url!.endsWith("/adoption")) {
        askedForDays++;
        return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ days }));
      }
      const since = new URL(request.url!, "http://hub").searchParams.get("since");
      asked.push({ since, etag: request.headers["if-none-match"] });
      if (away) return void response.writeHead(503).end("{}");
      const etag = `"fleet-${changes}-${since ?? 0}"`;
      if (request.headers["if-none-match"] === etag) return void response.writeHead(304).end();
      response.writeHead(200, { etag, "x-cursor": String(changes), "content-type": "application/json" });
      const all = { a: record("1.0.0"), b: record("1.0.0") };
      response.end(
        JSON.stringify(since === null ? all : changes > 2 ? { b: record("1.1.0"), c: record("1.1.0") } : {}),
      );
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.teardown(() => server.close());
    const hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

    const model = new FleetModel();
    const stop = new AbortController();
    const connection = { hubUrl, apiKey: "key", timeoutMs: 5_000 };
    const following = followFleet({ kind: "plugin", slug: "a" }, connection, model, () => {}, stop.signal, 100);
    await until(() => model.complete);
    t.equal(model.size, 2);
    await until(() => asked.length >= 4);
    t.strictSame(model.adoption, { days });
    t.strictSame(asked[0], { since: null, etag: undefined });
    t.strictSame(asked[3], { since: "2", etag: '"fleet-2-2"' }, "nothing changed, and nothing is sent again");

    changes = 4;
    await until(() => model.size === 3);
    t.strictSame(
      model.rows({ search: "", filter: "all", latest: null }).map(({ id, version }) => `${id} ${version}`),
      ["a 1.0.0", "b 1.1.0", "c 1.1.0"],
    );
    t.equal(askedForDays, 1, "a fleet that changes often does not ask for its days as often");

    away = true;
    await until(() => model.error !== undefined);
    t.match(model.error, /503/);
    t.equal(model.size, 3, "what was known stays on the screen");
    away = false;
    await until(() => model.error === undefined);
    stop.abort();
    await following;
  },
);

t.test("a key that does not read the fleet is told how one does", { timeout: 60_000 }, async (t) => {
  for (const [code, wanted] of [
    ["forbidden", /joins by `sealift host invite --fleet` reads its numbers/],
    ["other_host", /reads about no other one: `sealift fleet`/],
  ] as const) {
    const server = createServer((_request, response) => {
      const body = JSON.stringify({ error: "The key may not.", detail: "The key may not.", code });
      response.writeHead(403, { "content-type": "application/json" }).end(body);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.teardown(() => server.close());
    const hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const model = new FleetModel();
    const stop = new AbortController();
    const told = Promise.withResolvers<void>();
    const hub = { hubUrl, apiKey: "key", timeoutMs: 5_000 };
    const following = followFleet({ kind: "plugin", slug: "a" }, hub, model, () => told.resolve(), stop.signal, 100);
    await told.promise;
    t.match(model.error, wanted);
    stop.abort();
    await following;
  }
});
