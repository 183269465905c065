// In a process of its own: it starts two hosts with all their programs.
// Only in test:all: waves stop at the first host, as fleet-settings.test.ts shows of later values.
/** A first value that breaks the application reaches one of two empty hosts, and a corrected one starts both. */
import t from "tap";
import { settingsShop } from "../support/host/settings-shop.ts";

t.test("a bad first value stops at the first of two hosts where nothing runs yet", async (t) => {
  const { sealift, host, apply, secret } = await settingsShop(t);
  const hosts = [await host("pier-7"), await host("pier-8")];
  for (const { watch } of hosts) await watch.untilEvent("target.held", { reason: "settings", version: "1.0.0" });

  const broken = await apply("bad");
  t.match(
    broken,
    { code: 1, stderr: /settings_failed[^]*is as it was before\. 1 host of a later wave/ },
    broken.stderr,
  );
  t.notMatch(broken.stderr, /✓/, "nothing was said to work");
  const tried = hosts.filter(({ watch }) => watch.said.events.some(({ event }) => event === "settings.done"));
  t.equal(tried.length, 1);
  const fleet = (await sealift("fleet", "Harbour")).stdout;
  t.match(fleet, new RegExp(`^${tried[0]!.name} .*settings 1 failed \\(\\w+\\)$`, "m"), fleet);

  const mended = await apply("info");
  t.match(mended, { code: 0 }, mended.stderr);
  for (const { watch } of hosts) await watch.untilEvent("deploy.done", { outcome: "deployed" });
  for (const { answer } of hosts) t.strictSame(await answer(), { secret, level: "info" });
  t.comment("a host gets values also while its hub offers it no version");
  const yanked = await sealift("version", "yank", "project:Harbour", "1.0.0", "--reason", "a try");
  t.match(yanked, { code: 0 }, yanked.stderr);
  const rotated = await apply("debug");
  t.match(rotated, { code: 0 }, rotated.stderr);
  for (const { answer } of hosts) t.strictSame(await answer(), { secret, level: "debug" });
  const healed = (await sealift("fleet", "Harbour")).stdout;
  for (const { name } of hosts) t.match(healed, new RegExp(`^${name} +1\\.0\\.0 .*settings \\d applied$`, "m"), healed);
});
