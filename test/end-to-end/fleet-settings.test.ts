// In a process of its own: it starts two hosts with all their programs.
/** One file gives two hosts their settings: hub, operator, watches, `app serve` and applications are real programs. */
import t from "tap";
import { filesWith, settingsShop } from "../support/host/settings-shop.ts";

t.test("two hosts get their settings from one file, and a value that breaks the application reaches one", async (t) => {
  const { world, sealift, host, apply, secret: SECRET } = await settingsShop(t);
  const hosts = [await host("pier-7"), await host("pier-8")];
  for (const { watch } of hosts) await watch.untilEvent("deploy.done", { outcome: "failed", code: "env_missing" });
  for (const { watch } of hosts) await watch.untilEvent("target.held", { reason: "settings", version: "1.0.0" });

  const fleet = async (...words: string[]): Promise<string> => (await sealift("fleet", "Harbour", ...words)).stdout;
  t.match(await fleet(), /^pier-7 +none .* held .*web needs values for SECRET/m, "why it waits is shown");

  const first = await apply("info");
  t.match(first, { code: 0, stderr: /✓ pier-\d: applied number 1[^]*✓ pier-\d: applied number 1/ }, first.stderr);
  t.notMatch(first.stdout + first.stderr, SECRET);
  for (const { watch } of hosts) await watch.untilEvent("deploy.done", { outcome: "deployed" });
  for (const { answer } of hosts) t.strictSame(await answer(), { secret: SECRET, level: "info" });
  for (const { watch } of hosts)
    t.equal(
      watch.said.events.filter(({ event, code }) => event === "deploy.done" && code === "env_missing").length,
      1,
      "a version that waits for settings is not fetched again",
    );

  const broken = await apply("bad");
  t.match(
    broken,
    { code: 1, stderr: /settings_failed[^]*is as it was before\. 1 host of a later wave/ },
    broken.stderr,
  );
  for (const { answer } of hosts) t.strictSame(await answer(), { secret: SECRET, level: "info" });
  t.equal(hosts.filter(({ watch }) => watch.said.stdout.includes('"settings.done","number":2')).length, 1);
  t.match(await fleet(), /settings 2 failed \(\w+\)$[^]*settings 1 applied$|settings 1 applied$[^]*settings 2 failed/m);
  t.match(await sealift("settings", "show"), { code: 0, stdout: /pier-\d +2 +failed, as it was before/ });

  const mended = await apply("debug");
  t.match(mended, { code: 0 }, mended.stderr);
  for (const { answer } of hosts) t.strictSame(await answer(), { secret: SECRET, level: "debug" });
  t.match(await apply("debug"), { code: 0, stderr: /No host needs new settings/ });
  for (const { watch } of hosts)
    t.equal(
      watch.said.events.filter(({ event, outcome }) => event === "deploy.done" && outcome === "deployed").length,
      1,
      "settings are no deployment",
    );

  for (const { name } of hosts) {
    t.match(await fleet("--settings", "applied"), new RegExp(`^${name} .*settings \\d applied$`, "m"));
    t.match(await fleet("--apps"), new RegExp(`^web +${name} +1\\.0\\.0 +running +\\d{4}-[^ ]+ [^ ]+ +\\dm$`, "m"));
  }
  const doctor = await sealift("doctor", "--project-root", hosts[0]!.root);
  t.match(doctor.stdout, /settings project-.*: This operator is pinned: [0-9a-f]{64}$/m);

  t.strictSame(await filesWith(world.path("hub"), SECRET), [], "the hub has nothing of it");
  const state = `.sealift/state/settings-project-${world.projectId}.json`;
  for (const { root, watch } of hosts) {
    t.strictSame(await filesWith(root, SECRET), [state, "apps/web.env"].sort());
    t.notMatch(watch.said.stdout + watch.said.stderr, SECRET);
  }
});
