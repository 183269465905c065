/** A hub whose answers drip, or never come, holds up its own targets and nobody else's. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { gate } from "../../support/host/gate.ts";
import { givenTarget, watching } from "../../support/host/watching.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("downloads of one hub that never end leave room for the deployments of another", async (t) => {
  const folder = temporaryFolder(t);
  const door = gate();
  const slow = Array.from({ length: 6 }, (_, number) =>
    givenTarget(join(folder, `slow-${number}`), {
      slug: `prj_000000000${number}`,
      hub: "https://slow.example",
      given: () => ({
        resolve: async () => {
          await door.pass();
          return { version: "1.0.0", identity: "one" };
        },
      }),
    }),
  );
  const quick = givenTarget(join(folder, "quick"), { slug: "prj_0000000009", hub: "https://quick.example" });
  for (const target of slow) target.publish("1.0.0");
  const watch = watching(t, [...slow, quick]);
  await door.reached;
  quick.publish("2.0.0");
  await watch.until("deploy.done", { target: quick.name, outcome: "deployed" });
  t.equal(await readFile(join(folder, "quick/plugins/a/version"), "utf8"), "2.0.0");
  door.open();
  await watch.stop();
});

t.test("polls of one hub that are never answered leave room for the polls of another", async (t) => {
  const folder = temporaryFolder(t);
  const door = gate();
  const silent = Array.from({ length: 20 }, (_, number) => {
    const target = givenTarget(join(folder, `silent-${number}`), {
      slug: `prj_00000000${10 + number}`,
      hub: "https://silent.example",
    });
    return { ...target, poll: () => door.pass().then(() => ({ changed: false }) as const) };
  });
  const quick = givenTarget(join(folder, "quick"), { slug: "prj_0000000009", hub: "https://quick.example" });
  quick.publish("1.0.0");
  const watch = watching(t, [...silent, quick]);
  await watch.until("deploy.done", { target: quick.name, outcome: "deployed" });
  t.equal(await readFile(join(folder, "quick/plugins/a/version"), "utf8"), "1.0.0");
  door.open();
  await watch.stop();
});
