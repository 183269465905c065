import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createHub } from "../../lib/hub/hub.ts";
import { freePort } from "../../test/support/free-port.ts";
import { plant } from "../../test/support/host/project-root.ts";
import { createProject, hubAt, type ProjectAccess } from "../../test/support/hub/harness.ts";
import { Programs } from "../quickstart/programs.ts";
import { Service } from "./service.ts";

/** Files of the plugin; each of them names its version. */
export const FILES = ["version", "main.mjs", "deep/er/version"];

export interface SoakWorld {
  hub: Service;
  watch: Service;
  runtime: Service;
  agent: Service;
  publisher: Service;
  projectId: string;
  source: string;
  agentRoot: string;
  watchRoot: string;
  connection: { hubUrl: string; apiKey: string };
  /** Sets the version that the publisher publishes from now on. */
  setVersion(version: string): void;
  /** Returns the names of the soak's processes that still run. */
  processes(): Promise<string[]>;
}

/** Writes the source tree of one version. */
export const writeVersion = (source: string, projectId: string, version: string): Promise<void> =>
  plant(source, {
    "deployment/install.yaml": `format_version: "1"\nproject_id: ${projectId}\nversion: ${version}\nsteps:\n  - {id: install, action: install_plugin, plugin: shop}\n`,
    "plugins/shop/plugin.yaml": `name: shop\nversion: ${version}\nentry_point: main.mjs\nexecution_mode: trusted\n`,
    "plugins/shop/version": version,
    "plugins/shop/deep/er/version": version,
    "plugins/shop/main.mjs": `export default { actions: { version: () => "${version}" } };\n// ${"padding ".repeat(5_000)}\n`,
  });

/** Makes a hub with a project, and the programs that use it. */
export async function makeWorld(folder: string): Promise<SoakWorld> {
  const dataDir = join(folder, "hub");
  const hubUrl = `http://127.0.0.1:${await freePort()}`;
  const { id: projectId, key: apiKey, credential } = await prepareHub(dataDir);
  await using programs = new Programs(folder);
  await programs.run("sealift", ["keygen", "--out", join(folder, "keys")], {});
  const [source, agentRoot, watchRoot] = [
    join(folder, "source"),
    join(folder, "agent-root"),
    join(folder, "watch-root"),
  ];
  await writeVersion(source, projectId, "1.0.0");
  await plant(folder, {
    "api.key": `${apiKey}\n`,
    credential: `${credential}\n`,
    "watch-root/integration.yaml": `app: { secret_key: a-plugin-key-for-tests-only, server: { port: 0 } }\nplugins: { strict_trusted: false }\n`,
    // JSON is YAML.
    "watch.yaml": JSON.stringify({
      ...{ hub_url: hubUrl, interval: 1, timeout: 5, host_id: "watch", api_key_file: "api.key" },
      targets: [
        {
          ...{ target: `project:${projectId}`, project_root: watchRoot, deployment_credential_file: "credential" },
          signer_public_key: "keys/signer.pub",
        },
      ],
    }),
  });
  const secrets = { SEALIFT_HUB_URL: hubUrl, SEALIFT_API_KEY: apiKey, SEALIFT_DEPLOYMENT_CREDENTIAL: credential };
  const publishing = [
    ...[source, "--project-id", projectId],
    ...["--signing-key-file", join(folder, "keys", "signer.key"), "--version", "1.0.0"],
  ];
  const target = ["--project-id", projectId, "--signer-public-key", join(folder, "keys", "signer.pub")];
  const at = { cwd: folder };
  return {
    ...{ projectId, source, agentRoot, watchRoot, connection: { hubUrl, apiKey } },
    hub: new Service("hub-serve", ["--data-dir", dataDir, "--listen", hubUrl.slice("http://".length)], {
      ...at,
      ready: /^ready /,
    }),
    watch: new Service("watch", ["--config", join(folder, "watch.yaml"), "--json"], {
      ...at,
      ready: /"event":"watch.started"/,
    }),
    runtime: new Service("runtime-serve", [], { cwd: watchRoot, ready: /^ready / }),
    agent: new Service(
      "deploy-project",
      [...target, "--project-root", agentRoot, "--host-id", "agent", "--timeout", "5"],
      { ...at, env: secrets },
    ),
    publisher: new Service("deploy-publish", publishing, { ...at, env: secrets }),
    setVersion: (version) => void (publishing[publishing.length - 1] = version),
    processes: () => processesOf(folder),
  };
}

async function prepareHub(dataDir: string): Promise<ProjectAccess> {
  const hub = await createHub({ listen: { host: "127.0.0.1", port: 0 }, dataDir });
  try {
    const url = await hub.listen();
    const key = (await readFile(join(dataDir, "admin.key"), "utf8")).trim();
    return await createProject({
      async call(method, path, options) {
        for (let tries = 0; ; tries++) {
          const answer = await hubAt(url, key).call(method, path, options);
          if (answer.status !== 503 || tries === 60) return answer;
          // A busy machine: the hub sheds load.
          await sleep(1_000);
        }
      },
    });
  } finally {
    await hub.close();
  }
}

/** Lists the processes of a soak, which name its folder among their arguments, or work in it. */
async function processesOf(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line.includes(folder)) found.push(line.split("\0").slice(0, 2).join(" "));
  }
  return found;
}
