// Only in test:all: disks that fill, which root mounts.
/** An application that fills the disk of its host: the version before comes back, and room ends it. */
import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import t from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { AppServe } from "../../../lib/apps/serve.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { currentRelease } from "../../../lib/releases/release.ts";
import { ifThere } from "../../../lib/support/files.ts";
import { freePort } from "../../support/free-port.ts";
import { installing } from "../../support/host/application-host.ts";
import { GRANT_USER } from "../../support/host/application-root.ts";
import { GIVEN_TARGET, sourceOf } from "../../support/host/given-source.ts";
import { mountMemory } from "../../support/host/loop-file-system.ts";
import { until } from "../../support/until.ts";

const BYTES = 24 * 1024 * 1024;

/** Fills the data folder to the last byte, and then answers. */
const filling = (status: number): string => `
const { openSync, writeSync } = require("node:fs");
const file = openSync(process.env.FILL, "w");
for (let size = 1 << 20; size >= 1; )
  try { writeSync(file, Buffer.alloc(size)); } catch { size >>= 1; }
require("node:http").createServer((request, response) => response.writeHead(${status}).end("full"))
  .listen(Number(process.env.PORT), process.env.HOST);
`;
const SOUND = `require("node:http").createServer((request, response) => response.end("sound"))
  .listen(Number(process.env.PORT), process.env.HOST);`;

const disk = mountMemory(t, BYTES);
const skip = "reason" in disk && `this machine mounts no disk: ${disk.reason}`;

t.test("versions that fill the disk go back, also where they are healthy, and room ends it", { skip }, async (t) => {
  const root = "folder" in disk ? disk.folder : "";
  for (const folder of [root, dirname(root)]) await chmod(folder, 0o755);
  const layout = layoutOf(root);
  const port = await freePort();
  const grants = { supervisor: "serve", applications: { web: { ...GRANT_USER, listen: { http: port } } } };
  await writeFile(join(root, "applications.yaml"), JSON.stringify(grants));
  await using _served = await AppServe.start(layout, () => undefined);
  const data = join(root, "apps/web/storage");
  const app = "ports: [http]\ndata: storage\nhealth: { http: /, within: 5s, stays_up: 1s }\nstop: { within: 1s }\n";
  const run = (version: string, server: string) => {
    const files = {
      "apps/web/app.yaml": `command: [sh, start.sh]\n${app}`,
      "apps/web/start.sh": `FILL=storage/fill exec '${process.execPath}' server.js\n`,
      "apps/web/server.js": server,
    };
    const source = sourceOf(version, installing("web"), { files });
    return deploy(
      source,
      { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "h", supervisor: { name: "none" } },
      () => {},
    );
  };
  /** Waits until the application that was restarted says so. */
  const says = async (text: string): Promise<void> => {
    const answer = () => fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
    await until(async () => (await answer().catch(() => "")) === text);
  };

  t.match(await run("1.0.0", SOUND), { outcome: "deployed" });
  t.match(await run("1.1.0", filling(500)), { outcome: "rolled_back", error: { message: /answered 500/ } });
  await says("sound");
  t.match(await currentRelease(layout, GIVEN_TARGET), { version: "1.0.0" });
  await rm(join(data, "fill"));

  // Healthy, but there is no room for the switch to be committed.
  const message = /^No space left on the disk of .* The previous release is back\.$/;
  t.match(await run("1.2.0", filling(200)), { outcome: "rolled_back", error: { code: "rolled_back", message } });
  await says("sound");
  t.match(await currentRelease(layout, GIVEN_TARGET), { version: "1.0.0" });
  t.strictSame(await readQuarantine(layout, GIVEN_TARGET).then((held) => held.map(({ version }) => version)), [
    "1.1.0",
  ]);
  t.match(await run("1.3.0", `${SOUND} /* ${"a".repeat(8192)} */`), {
    outcome: "failed",
    error: { code: "disk_full" },
  });
  await says("sound");

  await rm(join(data, "fill"));
  t.match(await run("1.3.0", SOUND), { outcome: "deployed", previous_version: "1.0.0" });
  await says("sound");
  t.strictSame(await ifThere(readFile(layout.journal, "utf8")), undefined, "nothing is half done");
});
