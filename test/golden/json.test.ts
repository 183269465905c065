import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { golden } from "../support/golden.ts";
import { startHub } from "../support/hub/harness.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Patterns of all that differs from run to run, with the words that take its place. */
const MASKS: [RegExp, string][] = [
  [/\b(prj|art|rel|key|dpl|rol|rep|aud|idx|dlt|req)_[0-9A-Za-z-]{6,}/g, "<$1>"],
  [/\b(slk|sdc|sls)_[\w-]+/g, "<$1>"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>"],
  [/\b[0-9a-f]{64}\b/g, "<sha256>"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b/g, "<uuid>"],
  [/"[A-Za-z0-9+/]{43,86}={0,2}"/g, '"<base64>"'],
  [/"[A-Za-z0-9+/]{43}="/g, '"<base64>"'],
  [/127\.0\.0\.1:\d+/g, "<hub>"],
  [/\b(\d+\.\d+\.\d+)-[0-9a-f]{8}\b/g, "$1-<digest>"],
  [/\b\d{8}T\d{9}Z\b/g, "<time>"],
  [/"hosts":\d+,"done":\d+/g, '"hosts":0,"done":0'],
  // Changes with each release.
  [/"agent":"[^"]*"/g, '"agent":"<version>"'],
  [/"agents":\{"[^"]*":/g, '"agents":{"<version>":'],
  [/"sharing":"[a-z]+"/g, '"sharing":"<by file system>"'],
  // Kept when the hub has the time to.
  [/"(last_used_at|waiting_for)":(null|"[^"]*")/g, '"$1":<some>'],
  [/"([a-z_]*(?:_ms|_bytes|bytes|durationMs|_seconds|pid))":\d+(\.\d+)?/g, '"$1":0'],
  [/\b\d+(\.\d+)? (ms|s|B|kB|MB|KiB|MiB)\b/g, "<n> $2"],
];

type Result = Record<string, { slug: string; key: string; deployment_credential: string }>;

const masked = (text: string): string =>
  MASKS.reduce((found, [pattern, word]) => found.replaceAll(pattern, word), text);

t.test("the events of --json and the exit codes of a tour are what they were", async (t) => {
  const folder = temporaryFolder(t);
  const hub = await startHub(t);
  const settings = { XDG_CONFIG_HOME: folder, SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey };
  Object.assign(process.env, settings);
  t.teardown(() => {
    for (const name of Object.keys(settings)) delete process.env[name];
  });
  const lines: string[] = [];
  const run = async (...words: string[]): Promise<Result> => {
    const { code, stdout } = await runHere(COMMANDS, [...words, "--json"]);
    const events = stdout.trim().split("\n");
    const shown = events
      // As many of these come as the clock allows.
      .filter((line) => !/"event":"[a-z]+\.progress"/.test(line))
      .map((line) => masked(line.replaceAll(folder, "<folder>")));
    lines.push(
      `$ sealift ${masked(words.join(" ").replaceAll(folder, "<folder>"))}`,
      ...shown,
      `exit code ${code}`,
      "",
    );
    t.match(events.at(-1), /"event":"result"/, words.join(" "));
    return JSON.parse(events.at(-1)!) as Result;
  };

  const { project } = await run("project", "create", "Harbour", "--kind", "project");
  const id = project!.slug;
  await run("signer", "create", "--out", join(folder, "keys"));
  const { key } = await run(
    "key",
    "create",
    "--name",
    "host",
    "--project",
    id,
    "--scope",
    "deploy",
    "--scope",
    "report",
  );
  const source = join(folder, "source");
  await cp(new URL("../../examples/harbour", import.meta.url), source, { recursive: true });
  const plan = join(source, "deployment/install.yaml");
  const example = await readFile(plan, "utf8");
  const publish = async (version: string): Promise<void> => {
    const own = example.replace(/^project_id: .*/m, `project_id: ${id}`);
    await writeFile(plan, own.replace(/^version: .*/m, `version: ${version}`));
    const signer = ["--signing-key-file", join(folder, "keys", "signer.key")];
    await run("deploy-publish", source, "--project-id", id, "--version", version, ...signer);
  };
  await publish("1.0.0");
  await publish("1.0.0");
  const secrets = { "host.key": key!.key, "host.credential": key!.deployment_credential };
  for (const [name, text] of Object.entries(secrets)) await writeFile(join(folder, name), text, { mode: 0o600 });
  const root = join(folder, "root");
  const host = ["--project-root", root, "--host-id", "host-1", "--signer-public-key", join(folder, "keys/signer.pub")];
  const keyFiles = ["--api-key-file", join(folder, "host.key")];
  keyFiles.push("--deployment-credential-file", join(folder, "host.credential"));
  const deploy = (version: string) =>
    run("deploy-project", "--project-id", id, "--version", version, ...keyFiles, ...host);
  await deploy("latest");
  await deploy("latest");
  await run("status", "--project-root", root);
  await run("releases", `project:${id}`, "--project-root", root);
  await run("history", `project:${id}`, "--project-root", root);
  await run("fleet", `project:${id}`);
  await run("rollout", "start", id, "2.0.0", "--waves", "100%");
  await run("rollout", "list", id);
  await run("rollout", "abort", id, "--reason", "enough");
  await run("version", "list", id);
  await run("version", "yank", id, "1.0.0", "--reason", "bad");
  await run("version", "unyank", id, "1.0.0");
  await run("audit", "list");
  await run("key", "list");
  await deploy("9.9.9");
  await run("version", "list", "prj_0123456789abcdef0123456789");
  await run("rollout", "approve", id);
  golden(t, "tour.ndjson.txt", lines.join("\n"));
});
