// In a process of its own: it starts a host with all its programs.
// Only in test:all: values go the whole way, as those of the core do.
/** Odd values reach an application as they are, soon after their upload; those that no reader agrees on go nowhere. */
import { writeFile } from "node:fs/promises";
import t from "tap";
import { ODD_VALUES, settingsShop } from "../support/host/settings-shop.ts";

t.test("odd values reach an application as they are, by a hint and not by the interval", async (t) => {
  const { world, sealift, host, apply, key, secret } = await settingsShop(t, { uses: 1 });
  const pier = await host("pier-7", { watch: ["--interval", "1h"] });
  await pier.watch.untilEvent("target.held", { reason: "settings" });
  await pier.watch.untilEvent("hints.connected");
  const began = performance.now();
  t.match(await apply("info"), { code: 0 });
  await pier.watch.untilEvent("deploy.done", { outcome: "deployed" });
  t.ok(performance.now() - began < 60_000, "long before the next check");
  const applyText = async (yaml: string) => {
    await writeFile(world.path("fleet.yaml"), yaml);
    return sealift("settings", "apply", "fleet.yaml", ...key, "--wait", "60s");
  };
  const yaml = (values: object): string =>
    JSON.stringify({ project: "Harbour", settings: [{ apps: { web: { SECRET: secret, ...values } } }] });
  const odd = await applyText(yaml(ODD_VALUES));
  t.match(odd, { code: 0 }, odd.stderr);
  t.strictSame(await pier.answer(), { secret, more: ODD_VALUES });
  for (const [what, value] of [
    ["a carriage return", "two\r\nlines"],
    ["a NUL", "a\0b"],
    ["both quotes and a line break", `it's\n"both"`],
    ["more than a host takes", "x".repeat(64 * 1024)],
  ] as const) {
    const refused = await applyText(yaml({ MORE_PEM: value }));
    t.match(refused, { code: 2, stderr: /settings_unreadable|config_invalid/ }, `${what}: ${refused.stderr}`);
    t.notMatch(refused.stderr, /lines|both"|xxx/);
  }
  t.strictSame(await pier.answer(), { secret, more: ODD_VALUES });
});
