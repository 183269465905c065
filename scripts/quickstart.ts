/**
 * `npm start`: the whole way of a project, with the real programs as processes. A hub on embedded storage, keys, the
 * example project published and deployed to a host folder. Needs no configuration and leaves one folder, which it
 * names; interrupted, it leaves nothing. npm itself keeps what it compiles and logs in folders of its own. On a
 * terminal it ends with the dashboard, until `q`; elsewhere by itself.
 */
import { randomBytes } from "node:crypto";
import { chmod, cp, mkdtemp, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { sizeText } from "../lib/support/size-text.ts";
import { scriptArguments } from "./arguments.ts";
import { runApplication } from "./quickstart/application.ts";
import { onTerminal, showDashboard } from "./quickstart/dashboard.ts";
import { removeWhenInterrupted } from "./quickstart/interruption.ts";
import { joinHosts } from "./quickstart/joining.ts";
import { Programs, type ResultEvent } from "./quickstart/programs.ts";
import { heading, next, say, summary } from "./quickstart/words.ts";
import { zipFolder } from "./quickstart/zip-folder.ts";

const CHART_BYTES = 1024 * 1024;
const EXAMPLE = fileURLToPath(new URL("../examples/harbour", import.meta.url));

let isInterrupted = (): boolean => false;

async function main(): Promise<void> {
  scriptArguments(import.meta.filename, {});
  const folder = await mkdtemp(join(tmpdir(), "sealift-quickstart-"));
  // Started as root, the runtime gives its sandboxes another user, who has to find the plugins here. Secrets have
  // folders of their own.
  await chmod(folder, 0o755);
  const path = (...parts: string[]): string => join(folder, ...parts);
  await using programs = new Programs(folder);
  isInterrupted = removeWhenInterrupted(folder, programs);

  heading("A hub", "on embedded storage, with its administrator's key in a file of mode 0600");
  const hubUrl = await programs.serve("hub-serve", ["--data-dir", path("hub"), "--listen", "127.0.0.1:0"]);
  const admin = { SEALIFT_HUB_URL: hubUrl, SEALIFT_API_KEY: (await readFile(path("hub", "admin.key"), "utf8")).trim() };
  say(`listening on ${hubUrl}`);
  say(`look at it in a browser while the tour runs: sign in with the key in ${path("hub", "admin.key")}`);

  heading("A project and its keys", "one key for CI that may only publish, one for hosts that may only deploy");
  const { project } = await programs.run<{ project: { slug: string } }>(
    "sealift",
    ["project", "create", "Harbour", "--kind", "project"],
    admin,
  );
  const newKey = async (name: string, scopes: string[]): Promise<{ key: string; deployment_credential?: string }> => {
    const flags = scopes.flatMap((scope) => ["--scope", scope]);
    const created = await programs.run<{ key: { key: string; deployment_credential?: string } }>(
      "sealift",
      ["key", "create", "--name", name, "--project", project.slug, ...flags],
      admin,
    );
    return created.key;
  };
  const ci = await newKey("ci", ["publish"]);
  const host = await newKey("host-1", ["deploy", "report", "read"]);
  const signer = await programs.run<{ public_key: string }>("sealift", ["signer", "create", "--out", path("keys")], {});
  say(`project ${project.slug}, signer ${signer.public_key.slice(0, 16)}…`);

  heading("Publish", "hash, pack, compress, encrypt, sign, upload: one stream");
  await cp(EXAMPLE, path("source"), { recursive: true });
  // Charts stand for data that no version changes, which an upgrade must not fetch again.
  await writeFile(path("source", "plugins", "tide-table", "charts.bin"), randomBytes(CHART_BYTES));
  const publish = async (version: string) => {
    await prepareSource(path("source"), project.slug, version);
    return programs.run<ResultEvent & { outcome: string; artifact_bytes: number; content_sha256: string }>(
      "deploy-publish",
      [
        path("source"),
        "--project-id",
        project.slug,
        "--project-name",
        "Harbour",
        "--version",
        version,
        "--signing-key-file",
        path("keys", "signer.key"),
      ],
      { SEALIFT_HUB_URL: hubUrl, SEALIFT_API_KEY: ci.key },
    );
  };
  const first = await publish("1.0.0");
  say(`${first.outcome} 1.0.0: ${first.artifact_bytes} bytes sealed, content ${first.content_sha256.slice(0, 16)}…`);

  heading("Deploy", "fetch, verify, decrypt and unpack in one pass; then one switch");
  const signatureKey = randomBytes(24).toString("base64url");
  let delta: string | undefined;
  const deploy = () =>
    programs.run<ResultEvent & { outcome: string; version: string; report: string }>(
      "deploy-project",
      [
        "--project-id",
        project.slug,
        "--signer-public-key",
        path("keys", "signer.pub"),
        "--project-root",
        path("host"),
        "--host-id",
        "host-1",
      ],
      {
        SEALIFT_HUB_URL: hubUrl,
        SEALIFT_API_KEY: host.key,
        SEALIFT_DEPLOYMENT_CREDENTIAL: host.deployment_credential!,
        SEALIFT_PLUGIN_SECRET_KEY: signatureKey,
      },
      (event) => {
        if (event.event === "delta.chosen") say((delta = deltaText(event)));
        if (event.event === "verify.ok") say(`verified the ${String(event.check)}`);
        if (event.event === "switch.done") say(`switched to ${String(event.release)}`);
      },
    );
  await deploy();
  const again = await deploy();
  say(`a second run: ${again.outcome}`);

  heading("Upgrade", "a new version: only what changed travels, and the old release is kept for the way back");
  await publish("1.1.0");
  await deploy();
  if (delta === undefined) throw new Error("the upgrade took no delta");
  const releases = path("host", ".sealift", "releases", `project-${project.slug}`);
  say(`releases: ${(await readdir(releases)).toSorted().join(", ")}`);
  say(`plugins/tide-table → ${await readlink(path("host", "plugins", "tide-table"))}`);

  heading("Hosts that join", "with one invite, each with a key of its own that speaks for this host alone");
  await joinHosts(programs, { folder, hubUrl, admin, plugins: { SEALIFT_PLUGIN_SECRET_KEY: signatureKey } });

  heading("The fleet", "what the hub knows of its hosts");
  const fleet = (await (
    await fetch(`${hubUrl}/app/deploy/v1/projects/${project.slug}/hosts`, { headers: { "x-api-key": host.key } })
  ).json()) as Record<string, { version: string; status: string }>;
  for (const [id, { version, status }] of Object.entries(fleet)) say(`${id}  ${version}  ${status}`);

  heading("The marketplace", "one plugin, a plain ZIP, signed with its developer's secret and its author's key");
  const developer = { ...admin, SEALIFT_SIGNING_SECRET: randomBytes(24).toString("base64url") };
  await programs.run("sealift", ["project", "create", "Tide table", "--kind", "plugin", "--slug", "tide-table"], admin);
  const publishPlugin = async (version: string): Promise<void> => {
    await prepareSource(path("source"), project.slug, version);
    await zipFolder(path("source", "plugins", "tide-table"), `tide-table-${version}`, path("tide-table.zip"));
    const release = ["--version", version, "--archive", path("tide-table.zip")];
    release.push("--signing-key-file", path("keys", "signer.key"));
    await programs.run("sealift", ["marketplace", "publish", "tide-table", ...release], developer);
  };
  await publishPlugin("1.1.0");
  await programs.run("sealift", ["plan", "init", "tide-table", "--out", path("install.yaml")], {});
  const deployPlugin = (root: string, hostId: string, ...more: string[]) =>
    programs.run<ResultEvent & { version: string }>(
      "deploy-marketplace",
      [
        ...["tide-table", "--install-plan", path("install.yaml"), "--signer-public-key", path("keys", "signer.pub")],
        ...["--project-root", root, "--host-id", hostId, ...more],
      ],
      developer,
    );
  const plugin = await deployPlugin(path("plugin-host"), "host-2");
  say(`tide-table ${plugin.version} runs from ${path("plugin-host", "plugins", "tide-table")}`);
  await programs.run("sealift", ["fleet", "plugin:tide-table"], admin, ({ event, host_id: id, version, status }) => {
    if (event === "host") say(`${String(id)}  ${String(version)}  ${String(status)}`);
  });

  heading("The runtime", "the deployed plugins, one in process and one in a sandbox");
  await cp(path("source", "integration.yaml"), path("host", "integration.yaml"));
  const pluginKey = randomBytes(24).toString("base64url");
  const runtimeUrl = await programs.serve(
    "runtime-serve",
    ["--config", path("host", "integration.yaml"), "--listen", "127.0.0.1:0"],
    {
      HARBOUR_PLUGIN_KEY: pluginKey,
      HARBOUR_SIGNATURE_KEY: signatureKey,
    },
  );
  const call = async (plugin: string, action: string, payload: unknown): Promise<unknown> => {
    const answer = await fetch(`${runtimeUrl}/plugin/ipc/${plugin}/${action}`, {
      method: "POST",
      headers: { "x-plugin-key": pluginKey, "content-type": "application/json" },
      body: JSON.stringify({ payload }),
    });
    const body = (await answer.json()) as { result?: unknown; msg?: string };
    if (!answer.ok) throw new Error(`${plugin}/${action} answered ${answer.status}: ${body.msg}`);
    return body.result;
  };
  say(
    `tide-table/next (sandboxed): ${JSON.stringify(await call("tide-table", "next", { after: "2026-01-01T00:00:00Z" }))}`,
  );
  await call("berth-board", "moor", { berth: 2, ship: "Halcyon" });
  const board = await fetch(`${runtimeUrl}/plugin/berth-board/berths`);
  say(`GET /plugin/berth-board/berths (trusted): ${await board.text()}`);
  if (!board.ok) throw new Error(`berth-board answered ${board.status}`);

  heading("An application", "a web server of Express, which answers before, during and after an upgrade");
  await runApplication(programs, {
    folder,
    admin,
    signingKey: path("keys", "signer.key"),
    signerPublicKey: path("keys", "signer.pub"),
  });

  heading("A rollout", "a version in waves: the canary first, all others when it has proved itself there");
  const canary = ["--label", "env=canary"];
  const deployOn = async (id: string, ...more: string[]): Promise<void> => {
    const { version } = await deployPlugin(path(id === "host-2" ? "plugin-host" : `fleet/${id}`), id, ...more);
    say(`${id}  ${version}${more.length > 0 ? "  (the canary)" : ""}`);
  };
  const others = ["host-2", "host-3", "host-4"];
  await deployPlugin(path("fleet/host-5"), "host-5", ...canary);
  for (const id of others.slice(1)) await deployPlugin(path("fleet", id), id);
  const start = ["rollout", "start", "plugin:tide-table", "1.1.1", "--waves", "env=canary,100%", "--soak", "1s"];
  await programs.run("sealift", start, admin);
  await publishPlugin("1.1.1");
  await deployOn("host-2");
  await deployOn("host-5", ...canary);
  const opened = Promise.withResolvers<void>();
  const completed = programs.run(
    "sealift",
    ["rollout", "wait", "plugin:tide-table", "--timeout", "2m"],
    admin,
    ({ open }) => {
      if (open === 2) opened.resolve();
    },
  );
  await Promise.race([opened.promise, completed]);
  say("the second wave is open");
  const rest = async (): Promise<void> => {
    for (const id of others) await deployOn(id);
  };
  await Promise.all([completed, rest()]);
  say("the rollout is completed");

  if (onTerminal()) {
    const publishNext = async (): Promise<void> => {
      await publish("1.2.0");
      await publishPlugin("1.2.0");
    };
    await showDashboard(programs, { folder, hubUrl, projectId: project.slug, host, developer, publish: publishNext });
  }

  const { version, file } = await lastReport(path("host", ".sealift", "reports", `project-${project.slug}`));
  summary([
    `Everything that this made is in ${folder}`,
    `  host    the project's plugins, ${version}`,
    `  ${relative(folder, file)}`,
    `          the report of that deployment`,
    `Remove the folder, and it is gone: rm -r ${folder}`,
  ]);
  next([
    ["docs/getting-started.md", "the same, typed by hand, with a plugin of your own"],
    ["docs/applications.md", "an application of your own"],
    ["docs/hub.md", "the hub in a browser"],
    ["docs/watch.md", "a loop that follows the latest version"],
    ["docs/index.md", "all documents, by what you want to do"],
    ["npx sealift --help", "all commands"],
  ]);
}

/** Describes the bytes that an upgrade takes. */
function deltaText({ base_version: base, size_bytes: bytes, full_size_bytes: full }: Record<string, unknown>): string {
  return `delta from ${String(base)}: ${sizeText(Number(bytes))} instead of ${sizeText(Number(full))}`;
}

/** Returns the newest report of a target, of the tour or of the watch of its dashboard. */
async function lastReport(reports: string): Promise<{ version: string; file: string }> {
  const names = (await readdir(reports)).filter((name) => name.endsWith(".json")).toSorted();
  const file = join(reports, names.at(-1)!);
  const { resolved_version: version } = JSON.parse(await readFile(file, "utf8")) as { resolved_version: string };
  return { version, file };
}

/** Adapts the example for the user: its plan gets the project's id, its plugins the version. */
async function prepareSource(source: string, projectId: string, version: string): Promise<void> {
  const edit = async (file: string, change: (text: string) => string): Promise<void> => {
    const path = join(source, file);
    await writeFile(path, change(await readFile(path, "utf8")));
  };
  await edit("deployment/install.yaml", (text) => text.replace(/^project_id: .*$/m, `project_id: ${projectId}`));
  for (const plugin of ["tide-table", "berth-board"]) {
    await edit(`plugins/${plugin}/plugin.yaml`, (text) => text.replace(/^version: .*$/m, `version: ${version}`));
  }
}

main().catch((error: unknown) => {
  if (isInterrupted()) return;
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
