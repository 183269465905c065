// Holds: what an operator's stop means for programs of an application (lib/releases/stopped.ts)
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { requireNotStopped } from "../../../../commands/apps/require-healthy.ts";
import { passingStopped } from "../../../../lib/agent/supervisors/stopped-applications.ts";
import type { Supervisor } from "../../../../lib/agent/supervisors/supervisor.ts";
import { noteStopped, restingUnits, restsSince, stoppedSince } from "../../../../lib/releases/stopped.ts";
import { ApplicationRoot } from "../../../support/host/application-root.ts";

t.test("programs of a stopped application rest with it, and its jobs do not", async (t) => {
  const root = await ApplicationRoot.make(t);
  const { layout } = root;
  const files = { "server.js": "" };
  await root.installTogether({
    web: { app: {}, files },
    worker: { app: { of: "web" }, command: ["node", "worker.js"], files: {} },
    night: { app: { of: "web", schedule: "30 3 * * *" }, command: ["node", "night.js"], files: {} },
    other: { app: {}, files },
  });
  await root.grantAsIs({ web: root.user, worker: { of: "web" }, night: { of: "web" }, other: root.user });
  const ids = ["night", "other", "web", "worker"];
  const items = ids.map((id) => ({ section: "apps", id }) as const);
  const calls: string[] = [];
  const silent = async (id: string | null): Promise<undefined> => void calls.push(`${id}`);
  const waits = async (id: string | null) => ({ restarts: 0, fault: `${id} does not run` });
  const supervisor: Supervisor = {
    ...{ start: silent, restart: silent, stop: silent, look: waits },
    check: async (id: string | null) => `${id} does not run`,
  } as unknown as Supervisor;
  const passing = passingStopped(layout, supervisor);
  const faulty = async () => {
    const found: string[] = [];
    for (const id of ids) {
      const [fault, sample] = [await passing.check(id, 1000), await passing.look!(id, 1000)];
      t.equal(fault, sample.fault, id);
      if (fault !== undefined) found.push(id);
    }
    return found;
  };
  t.strictSame(await faulty(), ids);
  t.strictSame(await restingUnits(layout, items), []);

  await noteStopped(layout, "web", true);
  t.strictSame(await restingUnits(layout, items), ["apps/web", "apps/worker"]);
  t.equal(await restsSince(layout, "worker"), await stoppedSince(layout, "web"));
  t.strictSame(await faulty(), ["night", "other"]);
  for (const id of ids) await passing.restart(id);
  t.strictSame(calls, ["night", "other"]);

  const refused = { code: "app_stopped", message: /^web is stopped, and worker/ };
  await t.rejects(requireNotStopped(passing, "worker", "web"), refused, "nobody says that it works");
  await t.rejects(requireNotStopped(passing, "web", undefined), { code: "app_stopped", message: "web is stopped." });
  await requireNotStopped(passing, "night", "web");
  await requireNotStopped(passing, "other", undefined);

  t.comment("another one's stop is none of theirs, nor is a file of grants that cannot be read");
  await noteStopped(layout, "web", false);
  await noteStopped(layout, "other", true);
  t.strictSame(await restingUnits(layout, items), ["apps/other"]);
  await writeFile(join(layout.root, "applications.yaml"), "applications: [");
  t.strictSame(await restingUnits(layout, items), ["apps/other"]);
});
