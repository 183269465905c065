import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import t from "tap";
import { tryPlugin } from "../../../../lib/runtime/authoring/trial.ts";
import { startHost } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

const examples = fileURLToPath(new URL("../../../../examples/plugins", import.meta.url));

for (const name of ["guestbook", "shortener", "digest"]) {
  t.test(`the example ${name} passes its own tests`, async (t) => {
    const report = await tryPlugin({
      folder: join(examples, name),
      configFile: join(examples, "integration.yaml"),
      logger: () => pino({ level: "silent" }),
    });
    t.equal(report.health.status, "healthy");
    t.ok(report.outcomes.length > 0);
    for (const { name, passed, reason } of report.outcomes) t.ok(passed, `${name}: ${reason ?? ""}`);
  });
}

t.test("the three examples work together in one runtime", async (t) => {
  const host = await startHost(t, {
    configuration: { services: { databases: { main: { type: "sqlite", url: "sqlite:main.db" } } } },
  });
  for (const name of ["guestbook", "shortener", "digest"]) {
    cpSync(join(examples, name), host.path("plugins", name), { recursive: true });
    t.match(await host.load(name), { status: 200 }, name);
  }
  await host.result("guestbook", "sign", { guest: "Ada", text: "Hello" });
  await until(async () => (await host.result("digest", "count", { guest: "Ada" })) === 1);
  t.match(await host.result("digest", "latest"), [{ guest: "Ada", text: "Hello" }]);
  await until(() => existsSync(host.path("plugins/digest/data/counts.json")));
  await host.result("shortener", "shorten", { url: "https://example.org/", slug: "home" });
  const answer = await fetch(`${host.url}/plugin/shortener/home`, { redirect: "manual" });
  t.match([answer.status, answer.headers.get("location")], [302, "https://example.org/"]);
  t.match(await host.request("DELETE", "/plugin/shortener/home"), { status: 401 });
});
