// Holds: by which names a host knows a target (lib/agent/watch/target-on-disk.ts)
import t from "tap";
import { targetsAt } from "../../../../commands/targets/targets.ts";
import { WatchMemory } from "../../../../lib/agent/watch/state.ts";
import { describeTarget } from "../../../../lib/agent/watch/target-on-disk.ts";
import { factsAtStart } from "../../../../lib/agent/watch/target-state.ts";
import { artifactError } from "../../../../lib/contract/errors.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { questionOf } from "../../../../lib/tui/frame.tsx";
import { GIVEN_TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { install, prepareRelease } from "../../../support/host/project-root.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test(
  "a project is known by its name from the first answer of the hub, though its first deployment failed",
  async (t) => {
    const root = temporaryFolder(t);
    const given = givenTarget(root);
    given.publish("1.0.0");
    const w = watching(t, [
      {
        ...given,
        poll: async (...asked) => ({ ...(await given.poll(...asked)), projectName: "Shop" }),
        source: (version) =>
          sourceOf(version, INSTALL, { fetch: () => Promise.reject(artifactError("plan_invalid", "It is broken.")) }),
      },
    ]);
    await w.until("deploy.done", { outcome: "failed" });
    await w.stop();
    for (const name of ["project:Shop", "Shop"])
      t.strictSame(await targetsAt(layoutOf(root), [name]), [GIVEN_TARGET], name);
  },
);

t.test("the dashboard names what a rollback goes back to before the hub has answered", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  for (const version of ["1.0.0", "2.0.0"])
    await install(await prepareRelease(layout, GIVEN_TARGET, version, { "plugins/a/version": version }));
  const given = givenTarget(root);
  const found = await describeTarget(given, given.source("latest"), layout, new WatchMemory({ layout }, GIVEN_TARGET));
  t.match(found, { running_version: "2.0.0", previous_version: "1.0.0" });
  const { previous, running } = factsAtStart(found);
  const subject = { title: "project:Shop", running, latest: null, previous };
  t.equal(questionOf("rollback", subject), "Go back from 2.0.0 to 1.0.0 with project:Shop?");
  t.match(questionOf("rollback", { ...subject, previous: null }), "2.0.0 to the release that ran before with");
});
