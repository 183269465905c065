// Holds: when a check asks its hub, and when a stream stands for it (lib/agent/watch/standing-answer.ts)
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { StandingAnswer } from "../../../../lib/agent/watch/standing-answer.ts";
import { writePin } from "../../../../lib/agent/watch/state.ts";
import { projectPoll } from "../../../../lib/agent/watch/target.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { GIVEN_TARGET } from "../../../support/host/given-source.ts";
import { type GivenTarget, givenTarget, type Watching, watching } from "../../../support/host/watching.ts";
import { createProject, publication, startHub } from "../../../support/hub/real-hub.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { until } from "../../../support/until.ts";

const HINTED = { spreadMs: 0, firstPauseMs: 20, longestPauseMs: 80 };
/** Checks of a watch that follow one another here. */
const EVERY_MS = 50;

/** Counts checks and requests from now on until `checks` more are over. */
async function during(w: Watching, asked: () => number, checks = 10): Promise<number> {
  const [before, first] = [asked(), w.all("check.scheduled").length];
  await until(() => w.all("check.scheduled").length >= first + checks);
  return asked() - before;
}

/** A target whose hub's stream a test opens and ends; the hub's answers are given ones. */
async function streamed(t: Test, isLife: boolean) {
  const streams = new Set<ServerResponse>();
  const server = createServer((_request, response) => {
    const headers = { "content-type": "text/event-stream", ...(isLife && { "x-sealift-beat": "50" }) };
    response.writeHead(200, headers).write(":\n\n");
    streams.add(response);
    response.on("close", () => streams.delete(response));
  }).listen(0, "127.0.0.1");
  t.teardown(() => (server.closeAllConnections(), server.close()));
  await until(() => server.listening);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const root = temporaryFolder(t);
  const connection = { hubUrl: url, apiKey: "slk_0", hostId: "host", timeoutMs: 1000 };
  const target: GivenTarget = Object.assign(givenTarget(root, { hub: url, intervalMs: EVERY_MS }), {
    hints: { target: "project:prj_0123456789", connection },
  });
  target.publish("1.0.0");
  const w = watching(t, [target], undefined, HINTED);
  await w.until("deploy.done", { outcome: "deployed" });
  await until(() => w.all("hints.connected").length > 0);
  const hint = (): void => {
    const data = JSON.stringify({ targets: ["project:prj_0123456789"], spread_ms: 0 });
    for (const stream of streams) stream.write(`event: changed\ndata: ${data}\n\n`);
  };
  const close = (): void => {
    for (const stream of streams) stream.destroy();
  };
  return { target, w, root, asked: () => target.polls.length, hint, close };
}

t.test("while its hub's stream lives, checks send nothing, and a change here still counts at once", async (t) => {
  const { w, root, asked, hint, close, target } = await streamed(t, true);
  await during(w, asked, 3);
  t.equal(await during(w, asked), 0);
  await writePin(layoutOf(root), GIVEN_TARGET, { version: "1.0.0", reason: null, at: new Date().toISOString() });
  await until(() => w.all("check.scheduled").at(-1)?.pin === "1.0.0");
  t.comment("a hint is asked about, a person, and each opening, once");
  for (const wake of [hint, () => void w.watch.act(target.name, "check"), close]) {
    const before = asked();
    wake();
    await until(() => asked() > before);
    await until(() => w.all("hints.connected").length > w.all("hints.lost").length);
    await during(w, asked, 3);
    t.equal(await during(w, asked), 0);
    t.ok(asked() - before <= 4, `${asked() - before} requests`);
  }
});

t.test("a hub that does not say that its stream is a sign of life is asked at every check", async (t) => {
  const { w, asked } = await streamed(t, false);
  t.ok((await during(w, asked)) >= 9);
});

t.test("a failure, a held version and a window that has opened are asked about again", async (t) => {
  const { target, w, asked, hint } = await streamed(t, true);
  target.failing.push(new Error("away"), new Error("away"));
  hint();
  await until(() => target.failing.length === 0);
  await during(w, asked, 3);
  t.equal(await during(w, asked), 0);
  const opens = new Date(Date.now() + 1_000).toISOString();
  target.publish("1.0.0", { next: "2.0.0", nextAt: opens });
  hint();
  await during(w, asked, 3);
  target.publish("2.0.0");
  await w.until("deploy.done", { version: "2.0.0" });
  t.ok(Date.now() >= Date.parse(opens));
});

t.test("a version that only this host holds back is asked about no more than one that runs", async (t) => {
  const { target, w, asked, hint } = await streamed(t, true);
  await w.watch.act(target.name, "pause");
  target.publish("2.0.0");
  hint();
  await w.until("target.held", { version: "2.0.0", reason: "paused" });
  await during(w, asked, 3);
  t.equal(await during(w, asked), 0);
  await w.watch.act(target.name, "resume");
  await w.until("deploy.done", { version: "2.0.0" });
});

t.test("a window that the clock of the host has opened is asked about until the hub opens it", async (t) => {
  const { target, w, asked, hint } = await streamed(t, true);
  target.publish("1.0.0", { next: "2.0.0", nextAt: new Date(Date.now() - 2000).toISOString() });
  hint();
  await during(w, asked, 3);
  t.ok((await during(w, asked)) >= 9);
  target.publish("2.0.0");
  await w.until("deploy.done", { version: "2.0.0" });
});

t.test("a new definition is asked about", async (t) => {
  const { target, w, asked } = await streamed(t, true);
  await during(w, asked, 3);
  t.equal(await during(w, asked), 0);
  let labelled = 0;
  const poll: typeof target.poll = (...words) => (labelled++, target.poll(...words));
  await w.watch.replace([{ ...target, poll }]);
  await during(w, asked, 3);
  t.equal(labelled, 1, "as labels of the host may be others");
  t.equal(await during(w, asked), 0);
});

t.test("an answer ends after an hour at most, and with what the host says of itself", async (t) => {
  const answer = new StandingAnswer(() => 0);
  let asked = 0;
  const poll = async (as: string, isDue = false): Promise<number> => {
    const before = asked;
    await answer.polled(as, isDue, async () => (asked++, { changed: false }));
    return asked - before;
  };
  t.equal(await poll("a"), 1);
  t.equal(await poll("a"), 1, "no stream yet");
  answer.flows(true);
  t.equal(await poll("a"), 1, "after the opening");
  t.equal(await poll("a"), 0);
  t.equal(await poll("a", true), 1);
  t.equal(await poll("b"), 1);
  const now = performance.now.bind(performance);
  t.teardown(() => (performance.now = now));
  performance.now = () => now() + 3_599_000;
  t.equal(await poll("b"), 0);
  performance.now = () => now() + 3_601_000;
  t.equal(await poll("b"), 1);
  await answer.polled("b", true, async () => (answer.doubt(), { changed: false }));
  t.equal(await poll("b"), 1, "what was hinted during the request");
  answer.flows(false);
  t.equal(await poll("b"), 1);
});

t.test("a real hub's stream stands for its answer, and a publication arrives by it", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const connection = { hubUrl: hub.url, apiKey: project.key, timeoutMs: 5000, hostId: "pier-7" };
  let asked = 0;
  const poll = projectPoll(project.id, connection);
  const target = {
    ...givenTarget(temporaryFolder(t), { hub: hub.url, intervalMs: EVERY_MS }),
    poll: (...words: Parameters<typeof poll>) => (asked++, poll(...words)),
    hints: { target: `project:${project.id}`, connection },
  };
  const w = watching(t, [target], undefined, { spreadMs: 0 });
  await w.until("deploy.done", { version: "1.0.0" });
  await until(() => w.all("hints.connected").length > 0);
  // The stream begins with a hint of its own, which may wait a second.
  await until(async () => (await during(w, () => asked, 20)) === 0);
  await project.publish(publication("2.0.0"));
  await w.until("deploy.done", { version: "2.0.0" });
});
