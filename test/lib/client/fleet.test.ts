import { spawn } from "node:child_process";
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { type FleetHost, type FleetMark, readFleet } from "../../../lib/client/fleet.ts";
import { rounds } from "../../support/effort.ts";
import { MARKETPLACE_KEY, type MarketplaceHub, startMarketplaceHub } from "../../support/hub/marketplace-hub.ts";
import { type Answer, hangUp, html, json, redirect } from "../../support/hub/scripted-server.ts";
import { errorOf } from "../../support/hub/surface-b.ts";

const startHub = (t: Test): Promise<MarketplaceHub> =>
  startMarketplaceHub(t, { version: "1.0.0", bytes: Buffer.alloc(0) });

const TARGET = { kind: "plugin", slug: "tide-table" } as const;
const record = (version = "1.0.0", changes: object = {}) => ({ version, status: "success", ...changes });

const read = (hub: { url: string }, since?: FleetMark, timeoutMs = 10_000) =>
  readFleet(TARGET, { hubUrl: hub.url, apiKey: MARKETPLACE_KEY, timeoutMs }, since);

async function hostsOf(hub: { url: string }, timeoutMs?: number): Promise<FleetHost[]> {
  const { hosts } = await read(hub, undefined, timeoutMs);
  const all: FleetHost[] = [];
  for await (const host of hosts) all.push(host);
  return all;
}

/** A body as it is, with its length or in chunks. */
const body =
  (content: string, chunked = false): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    if (chunked) for (const character of content) response.write(character);
    response.end(chunked ? undefined : content);
  };

t.test("hosts are read in their order, whatever chunks they come in", async (t) => {
  const hub = await startHub(t);
  const fleet = {
    "host-1": record(),
    "host-2": record("2.0.0", { status: "failed", error_message: "no", extra: [1] }),
  };
  for (const chunked of [false, true]) {
    hub.answer("hosts", body(JSON.stringify(fleet), chunked));
    t.same(await hostsOf(hub), [
      { host_id: "host-1", ...fleet["host-1"] },
      { host_id: "host-2", ...fleet["host-2"] },
    ]);
  }
  hub.answer("hosts", body("{}"));
  t.same(await hostsOf(hub), []);
  t.match(hub.requests[0], {
    path: "/app/deployments/deployments/plugin/tide-table/hosts",
    headers: { "x-api-key": MARKETPLACE_KEY },
  });
});

t.test("the key of the object is the host, whatever the record says", async (t) => {
  const hub = await startHub(t);
  hub.answer(
    "hosts",
    body(
      `{"real": {"version": "1", "status": "success", "host_id": "claimed"}, "__proto__": ${JSON.stringify(record())}}`,
    ),
  );
  t.same(
    (await hostsOf(hub)).map(({ host_id }) => host_id),
    ["real", "__proto__"],
  );
});

t.test("with an ETag and a cursor a refresh asks for what changed only", async (t) => {
  const hub = await startHub(t);
  hub.answer("hosts", json(200, { a: record() }, { etag: '"one"', "x-cursor": "c/1 +" }));
  const first = await read(hub);
  for await (const _host of first.hosts);
  t.strictSame(
    { changed: first.changed, mark: first.mark },
    { changed: true, mark: { etag: '"one"', cursor: "c/1 +" } },
  );

  hub.answer("hosts", (response) => response.writeHead(304).end());
  const second = await read(hub, first.mark);
  const found: FleetHost[] = [];
  for await (const host of second.hosts) found.push(host);
  t.strictSame({ ...second, hosts: found }, { changed: false, whole: false, mark: first.mark, hosts: [] });
  const { path, headers } = hub.requests.at(-1)!;
  t.equal(path.split("?")[1], "since=c%2F1%20%2B");
  t.equal(headers["if-none-match"], '"one"');

  hub.answer("hosts", json(200, { b: record() }));
  t.strictSame((await read(hub, first.mark)).mark, {}, "a hub without either is asked for everything");
});

t.test("every other status is the contract's kind, and is asked for once", async (t) => {
  const expected: Record<number, object> = {
    401: { kind: "AuthenticationError", code: "key_rejected", exitCode: 3 },
    403: { kind: "AuthenticationError", code: "forbidden", exitCode: 3 },
    404: { kind: "DeploymentError", code: "not_found", exitCode: 1 },
    429: { kind: "DeploymentError", code: "rate_limited", exitCode: 75 },
    500: { kind: "DeploymentError", code: "hub_unavailable", exitCode: 75 },
    206: { kind: "DeploymentError" },
  };
  const hub = await startHub(t);
  for (const [status, error] of Object.entries(expected)) {
    hub.answer("hosts", json(Number(status), { error: "not today" }));
    const found = await errorOf(read(hub));
    t.match(found, { ...error, status: Number(status) });
    t.match(found.message, "not today");
  }
  hub.answer("hosts", hangUp);
  t.match(await errorOf(read(hub)), { kind: "DeploymentError", code: "connection_failed", exitCode: 75 });
});

t.test("an answer that is not an object of hosts is bad_answer", async (t) => {
  const hub = await startHub(t);
  const good = JSON.stringify(record());
  const bodies = [
    "",
    "[]",
    "null",
    "1",
    '"text"',
    "{",
    `{"a": ${good}`,
    `{"a": ${good},`,
    `{"a": ${good.slice(0, -5)}`,
    `{"a": ${good}} trailing`,
    `{"a": ${good}}{"b": ${good}}`,
    `{"a" ${good}}`,
    `{'a': ${good}}`,
    '{"a": null}',
    '{"a": "1.0.0"}',
    '{"a": {}}',
    '{"a": {"version": 1, "status": "success"}}',
    '{"a": {"version": "1", "status": "sleeping"}}',
    '{"a": {"version": "1"}}',
  ];
  for (const each of bodies) {
    hub.answer("hosts", body(each));
    const error = await errorOf(hostsOf(hub));
    t.match(error, { kind: "DeploymentError", code: "bad_answer", status: 200, exitCode: 1 }, each);
  }
  hub.answer("hosts", body('{"\u2028\u202e": 1}'));
  t.notMatch((await errorOf(hostsOf(hub))).message, /[\p{Cf}\p{Zl}]/u, "a host's name moves nothing on a terminal");
  hub.answer("hosts", html);
  t.match(await errorOf(hostsOf(hub)), { code: "bad_answer" });
});

t.test("an answer that breaks off or falls silent in the middle is an error, after the hosts that came", async (t) => {
  const start = `{"a": ${JSON.stringify(record())}, "b": `;
  const cases: [answer: Answer, code: string][] = [
    [
      (response) => response.writeHead(200, { "content-length": 5000 }).write(start, () => response.destroy()),
      "connection_failed",
    ],
    [(response) => response.writeHead(200).write(start, () => response.destroy()), "connection_failed"],
    [(response) => void response.writeHead(200).write(start), "timed_out"],
  ];
  await Promise.all(
    cases.map(async ([answer, code]) => {
      const hub = await startHub(t);
      hub.answer("hosts", answer);
      const { hosts } = await read(hub, undefined, 500);
      const came: string[] = [];
      const error = await errorOf(
        (async () => {
          for await (const host of hosts) came.push(host.host_id);
        })(),
      );
      t.match(error, { kind: "DeploymentError", code, exitCode: 75 }, code);
      t.strictSame(came, ["a"], code);
    }),
  );
});

t.test("who stops reading lets go of the connection", async (t) => {
  const hub = await startHub(t);
  const closed = new Promise<void>((resolve) => {
    hub.answer("hosts", (response) => {
      response.once("close", () => resolve());
      response.writeHead(200).write(`{"a": ${JSON.stringify(record())}, `);
      const more = setInterval(() => response.write(`"${Math.random()}": ${JSON.stringify(record())}, `), 5);
      t.teardown(() => clearInterval(more));
    });
  });
  const { hosts } = await read(hub);
  for await (const host of hosts) if (host.host_id === "a") break;
  await closed;
});

t.test("redirects are followed without the key", async (t) => {
  const [first, second] = [await startHub(t), await startHub(t)];
  second.answer("hosts", json(200, { a: record() }));
  first.answer(
    "hosts",
    redirect(307, ({ path }) => second.url + path),
  );
  t.match(await hostsOf(first), [{ host_id: "a" }]);
  t.equal(second.requests[0]!.headers["x-api-key"], undefined);
});

t.test("a record without an end is refused before it fills the memory", async (t) => {
  const hub = await startHub(t);
  const endless = `{"a": {"version": "1", "status": "success", "error_message": "${"x".repeat(1200 * 1024)}"}`;
  hub.answer("hosts", body(`${endless}}`));
  t.match(await errorOf(hostsOf(hub)), { code: "bad_answer", message: /more than 1048576 bytes/ });
  const large = record("1", { error_message: "x".repeat(900 * 1024) });
  hub.answer("hosts", body(JSON.stringify({ a: large, b: large })));
  t.equal((await hostsOf(hub)).length, 2, "large ones may come, one after the other");
});

/** The output of a process of its own that reads a fleet and prints it: hosts and peak resident MB. */
async function readApart(
  hub: MarketplaceHub,
  count: number,
  env: NodeJS.ProcessEnv = {},
): Promise<{ count: number; peakMb: number }> {
  const line = (index: number) =>
    `"host-${String(index).padStart(7, "0")}": ${JSON.stringify(record("1.0.0", { error_message: "x".repeat(150) }))}`;
  hub.answer("hosts", (response: ServerResponse) => {
    response.writeHead(200);
    let index = 0;
    const more = (): void => {
      while (index < count) {
        const lines: string[] = [];
        for (const end = Math.min(index + 500, count); index < end;) lines.push(line(index++));
        if (!response.write(`${index > 500 ? "," : "{"}${lines.join()}`)) return;
      }
      if (!response.writableEnded) response.end("}");
    };
    response.on("drain", more);
    more();
  });
  const script = `
    import { readFleet } from ${JSON.stringify(new URL("../../../lib/client/fleet.ts", import.meta.url).href)};
    const { hosts } = await readFleet({ kind: "plugin", slug: "p" }, { hubUrl: ${JSON.stringify(hub.url)}, apiKey: "k", timeoutMs: 60000 });
    const kept = [];
    let count = 0;
    for await (const host of hosts) {
      count++;
      process.stdout.write(JSON.stringify(host) + "\\n");
      if (process.env.KEEP) kept.push(host);
    }
    console.error(JSON.stringify({ count, peakMb: process.resourceUsage().maxRSS / 1000 }));
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { env });
  child.stdout.resume();
  return JSON.parse(await text(child.stderr)) as { count: number; peakMb: number };
}

t.test("memory does not grow with the fleet", async (t) => {
  const hub = await startHub(t);
  const hosts = rounds(100_000, 200_000);
  const few = await readApart(hub, 20_000);
  const kept = await readApart(hub, hosts, { KEEP: "yes" });
  const most = few.peakMb + ((kept.peakMb - few.peakMb) * 2) / 3;
  let many = await readApart(hub, hosts);
  // On a busy machine the collector comes late: the least disturbed of three runs is the measurement.
  for (let run = 1; run < 3 && many.peakMb >= most; run++) many = await readApart(hub, hosts);
  t.strictSame([few.count, many.count, kept.count], [20_000, hosts, hosts]);
  t.ok(many.peakMb < most, `${few.peakMb} MB, then ${many.peakMb} MB; keeping them all needs ${kept.peakMb} MB`);
});
