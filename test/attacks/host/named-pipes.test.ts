/** A named pipe, socket or device in the place of a file: a program that opens it to read would wait for ever. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import { commandLine } from "../../support/programs/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const HUB = { SEALIFT_HUB_URL: "https://127.0.0.1:1", SEALIFT_API_KEY: "slk_1" };
/** A point of the curve in hex. */
const KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const TARGET = ["tide-table", "--signing-secret", "0".repeat(32), "--project-root", "root"];
const PROJECT = ["--project-id", `prj_${"0".repeat(32)}`, "--deployment-credential", "c", "--project-root", "root"];
const VERSION = ["tide-table", "--version", "1.0.0", "--archive", "a.zip"];

/** Words of a command line, and the code that a file which cannot be read has there. */
const FILES: readonly [words: string[], code: string][] = [
  [["deploy-marketplace", ...TARGET, "--install-plan", "plan.yaml", "--api-key-file"], "credential_unreadable"],
  [["deploy-marketplace", ...TARGET, "--install-plan", "plan.yaml", "--ca-file"], "config_invalid"],
  [["deploy-marketplace", ...TARGET, "--install-plan", "plan.yaml", "--policy"], "config_invalid"],
  [["deploy-marketplace", ...TARGET, "--install-plan", "plan.yaml", "--config"], "config_invalid"],
  [["deploy-marketplace", ...TARGET, "--install-plan", "plan.yaml", "--notifiers-config"], "config_invalid"],
  [["deploy-project", ...PROJECT, "--signer-public-key"], "credential_unreadable"],
  [["watch", "--once", "--config"], "config_invalid"],
  [["plan", "validate"], "usage"],
  [["join", "https://127.0.0.1:1", "--out", "joined", "--token-file"], "credential_unreadable"],
  [["marketplace", "publish", ...VERSION, "--signing-secret", "0".repeat(32), "--sbom"], "usage"],
  [["marketplace", "publish", ...VERSION, "--signing-secret", "0".repeat(32), "--provenance"], "usage"],
  [
    ["deploy-publish", "source", "--project-id", "prj_1", "--version", "1.0.0", "--signing-key-file"],
    "credential_unreadable",
  ],
  [["hub", "serve", "--data-dir", "hub", "--listen", "127.0.0.1:0", "--kek-file"], "credential_unreadable"],
  [["hub", "serve", "--data-dir", "hub", "--listen", "127.0.0.1:0", "--tls-key", "key", "--tls-cert"], "tls_invalid"],
  [["hub", "backup", "--data-dir", "hub", "--to", "backup", "--key"], "credential_unreadable"],
  [["runtime-serve", "--config"], "config_invalid"],
  [["open", "--signer-public-key", KEY, "--signature", Buffer.alloc(64).toString("base64")], "usage"],
];

t.test("a pipe that nothing is written to, and a socket, end every command that reads a file at once", async (t) => {
  const cwd = temporaryFolder(t);
  await mkdir(join(cwd, "source"));
  await writeFile(join(cwd, "a.zip"), "");
  await writeFile(
    join(cwd, "plan.yaml"),
    'format_version: "1"\nproject_id: tide-table\nsteps: [{ id: a, action: prepare }]\n',
  );
  execFileSync("mkfifo", [join(cwd, "pipe")]);
  const server = createServer().listen(join(cwd, "socket"));
  t.teardown(() => server.close());
  await once(server, "listening");
  for (const [words, code] of FILES) {
    for (const [file, says] of [
      ["pipe", /it is a pipe, and nothing came from it|pipe is not a file/],
      ["socket", /it is a socket|socket is not a file/],
    ] as const) {
      const { code: exit, stderr } = await commandLine([...words, file], { cwd, env: HUB });
      t.match(stderr, says, `${words.join(" ")} ${file}`);
      t.match({ exit, stderr }, { exit: 2, stderr: `error (${code})` });
    }
  }
});

t.test("a pipe is read to its end, however late its writer writes", async (t) => {
  const cwd = temporaryFolder(t);
  const plan = 'format_version: "1"\nproject_id: tide-table\nsteps: [{ id: a, action: prepare }]\n';
  const pipe = join(cwd, "pipe");
  execFileSync("mkfifo", [pipe]);
  const validate = () => commandLine(["plan", "validate", "pipe", "--slug", "tide-table"], { cwd });

  const waiting = spawn("sh", ["-c", `echo waits; printf '%s' "$1" > "$0"`, pipe, plan]);
  const ended = once(waiting, "exit");
  await once(waiting.stdout, "data");
  t.match(await validate(), { code: 0 }, "one that waits for its reader");
  t.same(await ended, [0, null]);

  const script = `exec 3<> "$0"; echo open; sleep 0.3; printf '%s' "$1" >&3; sleep 0.3; echo '# end' >&3; sleep 0.3`;
  const slow = spawn("sh", ["-c", script, pipe, plan]);
  const slowEnded = once(slow, "exit");
  await once(slow.stdout, "data");
  t.match(await validate(), { code: 0 }, "one that takes its time");
  t.same(await slowEnded, [0, null]);
});
