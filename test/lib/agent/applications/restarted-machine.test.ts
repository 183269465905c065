import { cpSync, rmSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { applicationHost, appSource } from "../../../support/host/application-host.ts";
import { sourceOf } from "../../../support/host/given-source.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test(
  "a machine that restarts between the switch and the restart of applications runs what is installed",
  async (t) => {
    const h = await applicationHost(t);
    await h.run(appSource("1.0.0"));
    const copy = join(temporaryFolder(t), "root");
    const { events } = h;
    const push = events.push.bind(events);
    events.push = (event) => {
      if (event.event === "switch.done")
        cpSync(h.root, copy, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
      return push(event);
    };
    await h.run(appSource("1.1.0", ["web", "api"]));
    events.push = push;
    rmSync(h.root, { recursive: true });
    await cp(copy, h.root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    // A supervisor starts what is linked when the machine boots, before any agent has looked.
    h.pretended.running.clear();
    for (const id of ["web", "api"]) await h.pretended.supervisor().start(id);
    t.strictSame(Object.fromEntries(h.pretended.running), { web: "1.1.0", api: "1.1.0" });
    await h.run(sourceOf("2.0.0", "no plan"));
    t.match(
      events.find(({ event }) => event === "recovery.done"),
      { version: "1.1.0", outcome: "undone" },
    );
    t.equal(await h.version(), "1.0.0");
    t.strictSame(Object.fromEntries(h.pretended.running), { web: "1.0.0" });
  },
);
