import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { startHub } from "../support/hub/harness.ts";
import { publishedArchive, watchYaml } from "../support/hub/published.ts";
import { run } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("a version that asks for more is held, shown everywhere, and deployed once a person agrees", async (t) => {
  const folder = temporaryFolder(t);
  const [config, root] = [join(folder, "config"), join(folder, "root")];
  await mkdir(config);
  const hub = await startHub(t, { dataDir: join(folder, "hub"), rateLimits: false });
  const tides = await publishedArchive(hub, "plugin", "tides", config);
  const file = join(config, "watch.yaml");
  const entries = [{ target: tides.name, ...tides.options }];
  await writeFile(file, watchYaml({ hub_url: hub.url, project_root: root, interval: 1 }, entries));
  const asking = (version: string, asks: string) =>
    tides.publish(version, { "plugin.yaml": `name: tides\nversion: ${version}\n${asks}` });
  const sealift = (...args: string[]) => run(args, { cwd: folder });
  const watchOnce = () => run(["watch", "--config", file, "--once", "--json"], { cwd: folder });
  const onHost = (...args: string[]) => sealift(...args, "--project-root", root);

  await asking("1.0.0", "");
  t.equal((await watchOnce()).code, 0);
  t.match(await onHost("watch", "consent", "plugin:tides"), { code: 2, stderr: /No version of plugin:tides is held/ });
  await asking("2.0.0", "network: ['api.example.org:443']\n");
  const held = await watchOnce();
  const right = "tides: network: api.example.org:443";
  t.match(held, { code: 1 });
  t.match(held.events.at(-1), { targets: [{ outcome: "held", version: "2.0.0", error: { code: "rights_held" } }] });
  t.match(
    held.events.find(({ event }) => event === "target.held"),
    { version: "2.0.0", reason: "rights", rights: [right] },
  );

  const status = await onHost("status", "plugin:tides");
  t.match(status.stdout, /held +rights: 2\.0\.0 since .*sealift watch consent plugin:tides/);
  t.ok(status.stdout.includes(`+ ${right}`), status.stdout);
  const diff = await onHost("diff", "plugin:tides", "2.0.0");
  t.match(diff, { code: 0, stdout: `! ${right}\n`, stderr: /2\.0\.0 is held/ });
  const keyFile = join(config, "api.key");
  const fleet = await sealift("fleet", "plugin:tides", "--hub-url", hub.url, "--api-key-file", keyFile);
  t.match(fleet.stdout, / 1\.0\.0 .* held .*held: rights: 2\.0\.0 asks for more rights than the running 1\.0\.0/);

  const other = await onHost("watch", "consent", "plugin:tides", "--version", "3.0.0");
  t.match(other, { code: 2, stderr: /2\.0\.0 of plugin:tides is held, not 3\.0\.0/ });
  const consent = await onHost("watch", "consent", "plugin:tides", "--version", "2.0.0");
  t.match(consent, { code: 0, stdout: `agreed to what 2.0.0 asks for beyond 1.0.0:\n  ${right}\n` });
  t.notMatch((await onHost("status", "plugin:tides")).stdout, /held +rights/, "nobody has to agree any more");
  t.equal((await watchOnce()).code, 0);
  t.equal(await readFile(join(root, tides.folder, "version"), "utf8"), "2.0.0");
  t.notMatch((await onHost("status", "plugin:tides")).stdout, /held/);
});
