import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { projectPoll } from "../../../../lib/agent/watch/target.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { startHub } from "../../../support/hub/harness.ts";
import { SHORT } from "../../../support/hub/hints.ts";
import { invited, ownSecrets } from "../../../support/hub/joining.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("a watch that hears hints asks long before its next check once its host was removed or renamed", async (t) => {
  const hub = await startHub(t, { hintTimes: SHORT });
  const { project, at, invite, join } = await invited(hub);
  const { token } = await invite({ uses: 2 });
  for (const [host, json, code] of [
    ["pier-7", undefined, "host_removed"],
    ["pier-8", { host_id: "pier-9" }, "other_host"],
  ] as const) {
    const own = ownSecrets();
    await join(token, host, own);
    const connection = { hubUrl: hub.url, apiKey: own.key, timeoutMs: 5000, hostId: host };
    const target = { ...givenTarget(temporaryFolder(t), { slug: project.id }), intervalMs: 3_600_000 };
    target.poll = projectPoll(project.id, connection);
    target.hints = { target: `project:${project.id}`, connection };
    const w = watching(t, [target], () => 0, { spreadMs: 0, firstPauseMs: 10, longestPauseMs: 10, refusedMs: 10 });
    await w.until("hints.connected", {});
    await sleep(500);
    t.equal(w.all("hints.lost").length, 0, "the stream of a host that is there goes on");

    const { status } = await hub.call(json ? "PATCH" : "DELETE", `${at}/joined-hosts/${host}`, { json });
    t.equal(status, 204);
    t.equal((await w.until("check.failed", {})).code, code);
    await w.stop();
  }
});
