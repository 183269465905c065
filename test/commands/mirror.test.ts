import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { startHub } from "../support/hub/harness.ts";
import { publishedProject, watchYaml } from "../support/hub/published.ts";
import { run, start } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The built programs: a mirror, a watch behind it, and one mirror that is away. */

const AWAY = "http://127.0.0.1:9";

t.test("a watch takes a project through the mirrors of its watch.yaml", async (t) => {
  const folder = temporaryFolder(t);
  const hub = await startHub(t, { dataDir: join(folder, "hub") });
  const project = await publishedProject(hub, "tides", folder);
  await project.publish("1.0.0");
  const parameters = ["--hub-url", hub.url, "--cache-dir", "cache", "--listen", "127.0.0.1:0", "--quota", "1M"];
  const mirror = start(t, "sealift", ["mirror", "serve", ...parameters, "--json"], { cwd: folder });
  await mirror.untilEvent("ready");
  const { url } = mirror.said.events[0] as unknown as { url: string };
  const target = { target: project.name, project_root: "root", ...project.options };
  const file = join(folder, "watch.yaml");
  await writeFile(file, watchYaml({ hub_url: hub.url, mirror: [AWAY, url] }, [target]));
  const ended = await run(["watch", "--config", file, "--once", "--json"], { cwd: folder });
  t.equal(ended.code, 0, ended.stdout + ended.stderr);
  const warnings = ended.events.filter(({ event }) => event === "warning");
  t.equal(warnings.length, 1, "only the one that is away");
  t.match(warnings[0]!["message"], AWAY);
  t.equal(readdirSync(join(folder, "cache", "artifacts")).length, 1);
  for (const cache of [join(file, "cache"), file, "/proc/cache"]) {
    const refused = await run(["mirror", "serve", "--hub-url", hub.url, "--cache-dir", cache], {
      cwd: folder,
    });
    t.equal(refused.code, 2);
    t.match(refused.stderr, /^error \(config_invalid\): The folder .* cannot be a cache/);
    t.notMatch(refused.stderr, /^ +at /m, "no stack trace");
  }
  const second = await run(["mirror", "serve", ...parameters, "--json"], { cwd: folder });
  t.equal(second.code, 2);
  t.match(second.events.at(-1), { error: { code: "config_invalid" } });
  mirror.child.kill("SIGTERM");
  t.equal((await mirror.ended).code, 0);
});
