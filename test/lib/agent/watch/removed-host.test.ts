import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { watchSentences } from "../../../../lib/agent/watch/sentences.ts";
import { marketplacePoll, projectPoll } from "../../../../lib/agent/watch/target.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { isErrorBody, startHub } from "../../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../../support/hub/joining.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("the watch of a host that was removed says so, and asks no more before a person does", async (t) => {
  const hub = await startHub(t);
  const { project, at, invite, join } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  const connection = { hubUrl: hub.url, apiKey: own.key, timeoutMs: 5000, hostId: "pier-7" };
  const target = givenTarget(temporaryFolder(t), { slug: project.id });
  const asked = projectPoll(project.id, connection);
  let polls = 0;
  target.poll = (...question) => {
    polls++;
    return asked(...question);
  };
  target.hints = { target: `project:${project.id}`, connection };
  const w = watching(t, [target], () => 0, { spreadMs: 0, firstPauseMs: 10, longestPauseMs: 10, refusedMs: 10 });
  await w.until("check.scheduled", { failures: 0 });

  t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-7`)).status, 204);
  const failed = await w.until("check.failed", { code: "host_removed" });
  t.match(failed.message, "The host pier-7 was removed");
  t.match(watchSentences()(failed), /host_removed.*It asks no more, before `sealift watch check TARGET`/);
  const [before, scheduled] = [polls, w.all("check.scheduled").length];
  await sleep(300);
  t.strictSame([polls, w.all("check.scheduled").length], [before, scheduled], "it would have asked fifteen times");

  await w.watch.act(target.name, "check");
  await w.until("check.failed", { code: "host_removed" });
  t.equal(polls, before + 1, "a person's request is one question");
  await w.stop();
});

t.test("so does the watch of its plugins, and no route of the marketplace calls it a stranger", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tides", kind: "plugin", slug: "tide-table" } });
  const { at, invite, join } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  const connection = { hubUrl: hub.url, apiKey: own.key, timeoutMs: 5000, hostId: "pier-7" };
  const target = givenTarget(temporaryFolder(t), { slug: "tide-table" });
  target.poll = marketplacePoll("plugin", "tide-table", connection);
  const w = watching(t, [target], () => 0);
  await w.until("check.scheduled", { failures: 0 });

  t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-7`)).status, 204);
  await w.until("check.failed", { code: "host_removed" });
  const checks = w.all("check.started").length;
  await sleep(300);
  t.equal(w.all("check.started").length, checks);
  await w.stop();
  const plugin = "/app/marketplace/plugins/tide-table";
  for (const path of [plugin, `${plugin}/install`, `${plugin}/versions`])
    isErrorBody(t, await hub.call("GET", path, { key: own.key }), 401, "host_removed");
  isErrorBody(t, await hub.call("GET", plugin, { key: ownSecrets().key }), 401, "key_rejected");
});
