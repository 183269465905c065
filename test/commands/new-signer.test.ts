// Only in test:all: somebody types at a terminal, which .ci/run does as an ordinary user.
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { createProject, type RunningHub, startHub } from "../support/hub/harness.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { needs } from "../support/programs/optional.ts";
import { Terminal } from "../support/programs/terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SEALIFT = fileURLToPath(new URL("../../bin/sealift.ts", import.meta.url));

/** A source tree, two key pairs, and a project whose 1.0.0 the first of them has signed. */
async function published(t: Test, hub: RunningHub) {
  const project = await createProject(hub);
  const folder = temporaryFolder(t);
  const env = { PATH: process.env["PATH"] ?? "", SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: project.key };
  const run = (...words: string[]) => commandLine(words, { cwd: folder, env });
  await cp("examples/harbour", join(folder, "source"), { recursive: true });
  const plan = join(folder, "source/deployment/install.yaml");
  await writeFile(plan, (await readFile(plan, "utf8")).replace(/^project_id: .*/m, `project_id: ${project.id}`));
  for (const out of ["one", "two"]) t.equal((await run("signer", "create", "--out", out)).code, 0);
  const words = (version: string, keys: string, ...more: string[]) => [
    ...["project", "publish", "source", "--project-id", project.id, "--version", version, "--deltas", "0"],
    ...["--signing-key-file", `${keys}/signer.key`, ...more],
  ];
  const publish = (...given: Parameters<typeof words>) => run(...words(...given));
  const first = await publish("1.0.0", "one");
  t.equal(first.code, 0, first.stderr);
  t.notMatch(first.stderr, /warning/, "the first version has no signer before it");
  return { folder, env, words, publish, run, project };
}

const REFUSED =
  /warning: No earlier version that stands was signed by \w{16}…: hosts that pin \w{16}… will refuse 1\.1\.0 until/;

t.test("a pipeline is warned of a signer that no earlier version had, and goes on", async (t) => {
  const { publish } = await published(t, await startHub(t));
  t.match(await publish("1.1.0", "two", "--json"), { code: 0, stdout: /"event":"warning","message":"No earlier/ });
  const again = await publish("1.2.0", "two");
  t.match(again, { code: 0, stdout: /^published 1\.2\.0/ });
  t.notMatch(again.stderr, /warning/, "once is enough");
  t.notMatch((await publish("1.3.0", "one")).stderr, /warning/);
});

t.test("a new signer is told again once its versions are yanked, and refused where that is asked for", async (t) => {
  const { publish, run, project } = await published(t, await startHub(t));
  const told = /warning: No earlier version that stands was signed by \w{16}…: hosts that pin \w{16}… will refuse/;
  const refused = await publish("1.1.0", "two", "--new-signer", "refuse");
  t.match(refused, { code: 5, stdout: "", stderr: /error \(signer_new\)[^]*Nothing was published/ });
  t.match((await publish("1.1.0", "two")).stderr, told);
  t.match(await publish("1.2.0", "two", "--new-signer", "refuse"), { code: 0 }, "a version that stands carries it");
  for (const version of ["1.1.0", "1.2.0"]) await run("version", "yank", project.id, version);
  t.match((await publish("1.3.0", "two")).stderr, told);
  await run("version", "yank", project.id, "1.3.0");
  t.match(await publish("1.4.0", "two", "--new-signer", "refuse"), { code: 5 });
  t.match(await publish("1.4.0", "one", "--new-signer", "refuse"), { code: 0 });
});

t.test("in a pipe the warning stands on stderr", async (t) => {
  const { publish } = await published(t, await startHub(t));
  t.match(await publish("1.1.0", "two"), { code: 0, stdout: /^published 1\.1\.0/, stderr: REFUSED });
});

t.test("at a terminal a new signer is asked about", { skip: needs("tmux") }, async (t) => {
  const { folder, env, words } = await published(t, await startHub(t));
  const open = (...given: Parameters<typeof words>) =>
    Terminal.run([process.execPath, SEALIFT, ...words(...given)], { columns: 160, cwd: folder, env });
  for (const answer of [["n", "Enter"], ["Enter"], ["C-d"]]) {
    await using terminal = await open("1.1.0", "two");
    t.match((await terminal.shows(/Publish it\? \[y\/N\]/)).replaceAll("\n", ""), REFUSED);
    await terminal.press(...answer);
    t.match(await terminal.shows(/exit \d/), /exit 2/);
  }
  {
    await using terminal = await open("1.1.0", "two");
    await terminal.shows(/Publish it\?/);
    await terminal.press("y", "Enter");
    t.match(await terminal.shows(/exit \d/), /published 1\.1\.0[^]*exit 0/);
  }
});

t.test("--yes asks nothing at a terminal", { skip: needs("tmux") }, async (t) => {
  const { folder, env, words } = await published(t, await startHub(t));
  const command = [process.execPath, SEALIFT, ...words("1.1.0", "two", "--yes")];
  await using terminal = await Terminal.run(command, { columns: 160, cwd: folder, env });
  const screen = await terminal.shows(/exit \d/);
  t.match(screen, /exit 0/);
  t.notMatch(screen, /\[y\/N\]/);
});
