import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import type { WatchEvent } from "../../../../lib/agent/watch/events.ts";
import { Hints, type HintTimes } from "../../../../lib/agent/watch/hints.ts";
import type { WatchTarget } from "../../../../lib/agent/watch/target.ts";
import { projectPoll } from "../../../../lib/agent/watch/target.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { createProject, publication, startHub } from "../../../support/hub/real-hub.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const NEVER_MS = 24 * 3600 * 1000;
const QUICK: HintTimes = {
  ...{ spreadMs: 0, provenMs: 60_000, silenceMs: 300, firstPauseMs: 20, longestPauseMs: 80, refusedMs: 60_000 },
};
const KEY = "slk_the-key-of-the-watch";

type Answer = (response: ServerResponse, request: IncomingMessage, count: number) => void;

/** A hub that answers each connection for hints as it is told to. */
async function hintingHub(t: Test, answer: Answer) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(response, request, requests.length - 1);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const begin = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });

const frame = (targets: readonly string[], id = "e-1", more: object = { spread_ms: 0 }): string =>
  `id: ${id}\nevent: changed\ndata: ${JSON.stringify({ targets, ...more })}\n\n`;

/** Listens for targets at a hub, and records what comes of it. */
function listening(t: Test, url: string, names: readonly string[], times: Partial<HintTimes> = {}) {
  const looks: { name: string; at: number }[] = [];
  const events: WatchEvent[] = [];
  const flows: { name: string; isFlowing: boolean }[] = [];
  const hints = new Hints({
    look: (name) => looks.push({ name, at: performance.now() }),
    flows: (name, isFlowing) => flows.push({ name, isFlowing }),
    emit: (event) => events.push(event),
    random: () => 0.5,
    times: { ...QUICK, ...times },
  });
  t.teardown(() => hints[Symbol.asyncDispose]());
  const targets = (these: readonly string[]): WatchTarget[] =>
    these.map((name) => ({
      ...givenTarget(temporaryFolder(t), { name, hub: url }),
      hints: {
        target: name.split("@")[0]!,
        connection: { hubUrl: url, apiKey: KEY, hostId: "web-1", timeoutMs: 1000 },
      },
    }));
  hints.replace(targets(names));
  return {
    ...{ hints, looks, events, flows },
    replace: (these: readonly string[]) => hints.replace(targets(these)),
    codes: () => events.flatMap((event) => (event.event === "hints.lost" ? [event.code] : [event.event])),
  };
}

async function until(isSo: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + 10_000; !isSo(); await sleep(5))
    if (performance.now() > end) throw new Error(`in vain: ${what}`);
}

t.test("one connection is for all targets of a hub, and has those looked at that it names", async (t) => {
  let answered: ServerResponse | undefined;
  const hub = await hintingHub(t, (response) => {
    answered = begin(response);
    response.write(frame(["plugin:a", "plugin:b", "project:prj_0123456789"]));
  });
  const w = listening(t, hub.url, ["plugin:a@/srv/one", "plugin:a@/srv/two", "plugin:b", "project:prj_0123456789"], {
    silenceMs: NEVER_MS,
  });
  await until(() => w.looks.length === 4, "the first look at each");
  t.equal(hub.requests.length, 1);
  t.equal(hub.requests[0]!.url, "/app/deployments/v1/changes?targets=plugin%3Aa,plugin%3Ab,project%3Aprj_0123456789");
  t.match(hub.requests[0]!.headers, { "x-api-key": KEY, "x-sealift-host": "web-1" });
  answered!.write(frame(["plugin:a", "plugin:strange"]));
  await until(() => w.looks.length === 6, "the looks at one target in two roots");
  t.strictSame(
    w.looks
      .slice(4)
      .map(({ name }) => name)
      .sort(),
    ["plugin:a@/srv/one", "plugin:a@/srv/two"],
  );
  t.strictSame(w.events, [{ event: "hints.connected", hub: hub.url, targets: 3 }]);

  w.replace(["plugin:b"]);
  await until(() => hub.requests.length === 2, "a connection for the targets that are left");
  await w.hints[Symbol.asyncDispose]();
  t.equal(hub.requests.length, 2, "and it ends with the watch");
});

t.test("a flood of hints has a target looked at once a second", async (t) => {
  const hub = await hintingHub(t, (response) => {
    begin(response);
    for (let sent = 0; sent < 20_000; sent++) response.write(frame(["plugin:a"], `e-${sent}`, { spread_ms: 1 }));
  });
  const w = listening(t, hub.url, ["plugin:a"], { silenceMs: NEVER_MS });
  await until(() => w.looks.length === 2, "two looks");
  t.ok(w.looks[1]!.at - w.looks[0]!.at > 990);
  t.equal(w.looks.length, 2);
});

t.test("what is not a hint is skipped, and an event without an end ends the connection", async (t) => {
  const hub = await hintingHub(t, (response, _request, count) => {
    begin(response);
    if (count > 0) return;
    const bad = ["{", "[]", '{"targets":"plugin:a","spread_ms":0}', '{"targets":["plugin:a"],"spread_ms":-1}'];
    for (const data of bad) response.write(`event: changed\ndata: ${data}\n\n`);
    response.write(`event: other\ndata: {"targets":["plugin:a"],"spread_ms":0}\n\n`);
    response.write(`data: ${"x".repeat(100_000)}`);
  });
  const w = listening(t, hub.url, ["plugin:a"]);
  await until(() => w.codes().includes("bad_answer"), "the end of an endless event");
  t.strictSame(w.looks, []);
});

t.test("a proxy that cuts or gathers leaves the polls, and the hub is tried again, later each time", async (t) => {
  const at: number[] = [];
  const hub = await hintingHub(t, (response, _request, count) => {
    at.push(performance.now());
    // Gathers the whole answer; sends the headers alone; cuts; and then lets all pass.
    if (count === 0) return;
    if (count === 1) return void begin(response).flushHeaders();
    begin(response).write(frame(["plugin:a"], `e-${count}`));
    if (count < 5) response.end();
  });
  const began = performance.now();
  const w = listening(t, hub.url, ["plugin:a"], { firstPauseMs: 40, longestPauseMs: 200 });
  await until(() => at.length === 6, "the connection that stays");
  await until(() => w.events.length === 8, "every change of the connection");
  t.strictSame(
    w.codes(),
    [
      ...["timed_out", "hints.connected", "connection_failed", "hints.connected", "connection_failed"],
      ...["hints.connected", "connection_failed", "hints.connected"],
    ],
    "a silence that goes on is told once",
  );
  // A busy hub notes a request late, so the client's own beginning counts.
  t.ok(at[1]! - began >= 300 && at[2]! - began >= 600, "silence is noticed");
  t.ok(at[4]! - at[3]! > 80 && at[5]! - at[4]! > 140, "pauses grow");
  t.equal(hub.requests[3]!.headers["last-event-id"], "e-2", "a stream goes on where the last one ended");
});

t.test("a hub that refuses is not asked again soon, one that has no room when it says", async (t) => {
  for (const [status, headers] of [
    [404, {}],
    [401, {}],
    [503, { "retry-after": "60" }],
    [429, { "retry-after": "60" }],
  ] as const) {
    const hub = await hintingHub(t, (response) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ error: "no", detail: "no", code: "not_found" }));
    });
    const w = listening(t, hub.url, ["plugin:a"]);
    await until(() => w.events.length === 1, `the answer ${status}`);
    const [lost] = w.events;
    t.ok(lost?.event === "hints.lost" && Date.parse(lost.at) - Date.now() > 25_000, String(status));
    await w.hints[Symbol.asyncDispose]();
    t.equal(hub.requests.length, 1);
  }
});

t.test("an answer that is not a stream is none", async (t) => {
  const hub = await hintingHub(t, (response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<!doctype html><title>Sign in</title>");
  });
  const w = listening(t, hub.url, ["plugin:a"]);
  await until(() => w.events.length > 0, "the refusal");
  t.strictSame(w.codes(), ["bad_answer"]);
});

t.test("a watch deploys what a real hub has published, long before its next check", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const connection = { hubUrl: hub.url, apiKey: project.key, timeoutMs: 5000 };
  const target = {
    ...givenTarget(temporaryFolder(t), { hub: hub.url, intervalMs: NEVER_MS }),
    poll: projectPoll(project.id, connection),
    hints: { target: `project:${project.id}`, connection },
  };
  const w = watching(t, [target], undefined, { spreadMs: 0 });
  await w.until("deploy.done", { version: "1.0.0" });
  await until(() => w.all("hints.connected").length === 1, "the stream");
  await w.until("check.scheduled");
  const published = performance.now();
  await project.publish(publication("2.0.0"));
  await w.until("deploy.queued", { version: "2.0.0" });
  t.ok(performance.now() - published < 5000, "far from a day");
  await w.until("deploy.done", { version: "2.0.0" });
  await w.stop();
});
