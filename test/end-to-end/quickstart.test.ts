// Only in test:all: somebody types at a terminal, which .ci/run does as an ordinary user.
import { chmod, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { blocksOf } from "../support/docs/blocks.ts";
import { readPage } from "../support/docs/pages.ts";
import { needs } from "../support/programs/optional.ts";
import { Terminal } from "../support/programs/terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const QUICKSTART = fileURLToPath(new URL("../../scripts/quickstart.ts", import.meta.url));

t.test(
  "npm start on a terminal ends with the dashboard, in which a new version arrives, until q",
  { timeout: 300_000, skip: needs("tmux") },
  async (t) => {
    const folder = temporaryFolder(t);
    // Sandboxes of a runtime that root has started are other users.
    await chmod(folder, 0o755);
    await using terminal = await Terminal.run([process.execPath, QUICKSTART], { env: { TMPDIR: folder } });
    await terminal.shows(/› plugin:tide-table +1\.1\.1 +1\.1\.1 +current/, 180_000);
    await terminal.shows(/› plugin:tide-table +1\.2\.0 +1\.2\.0 +current/, 60_000);
    await terminal.press("Down");
    const picture = await terminal.shows(/ · hints [^]*› project:Harbour +1\.2\.0 +1\.2\.0 +current/);
    const [shown] = blocksOf(readPage("docs/watch.md")).filter(({ text }) => text.includes("Sealift watch"));
    t.equal(withoutMoment(picture), withoutMoment(shown!.text), "the picture in docs/watch.md is what is shown");
    await terminal.press("Up");
    await terminal.press("2");
    t.match(await terminal.shows(/host-5/), /4 hosts/, "the fleet of the quickstart");
    await terminal.press("q");
    const screen = await terminal.shows(/exit 0/, 60_000);
    t.match(screen, /Everything that this made is in/);
    t.match(screen, /the project's plugins, 1\.2\.0/, "the version that runs, which the dashboard has deployed");
    t.match(screen, /docs\/getting-started\.md/, "what to do next");
    t.strictSame(await processesOf(folder), [], "hub, runtime and sandboxes have ended");
  },
);

t.test(
  "npm start that is interrupted leaves no process and no folder",
  { timeout: 120_000, skip: needs("tmux") },
  async (t) => {
    const folder = temporaryFolder(t);
    await chmod(folder, 0o755);
    const home = join(folder, "home");
    await mkdir(home);
    await using terminal = await Terminal.run([process.execPath, QUICKSTART], { env: { TMPDIR: folder, HOME: home } });
    await terminal.shows(/listening on/, 60_000);
    await terminal.press("C-c");
    const screen = await terminal.shows(/exit 130/, 60_000);
    t.match(screen, /Interrupted\./);
    t.strictSame(await processesOf(folder), []);
    t.strictSame(await readdir(folder), ["home"]);
    t.strictSame(await readdir(home), [], "not even a cache of compiled code");
  },
);

t.test(
  "npm start in a terminal that is closed leaves no process and no folder",
  { timeout: 300_000, skip: needs("tmux") },
  async (t) => {
    const folder = temporaryFolder(t);
    await chmod(folder, 0o755);
    await using terminal = await Terminal.run([process.execPath, QUICKSTART], { env: { TMPDIR: folder } });
    await terminal.shows(/› plugin:tide-table +1\.1\.1 +1\.1\.1 +current/, 180_000);
    t.not((await processesOf(folder)).length, 0, "hub, runtime and watch run");
    await terminal.close();
    await until(async () => (await processesOf(folder)).length + (await readdir(folder)).length === 0, 60_000);
  },
);

/**
 * A screen without its moment: times, durations, sizes, and the course of a speed, which only a slow machine shows. A
 * watch that looks before the delta is there fetches the full artifact.
 */
const withoutMoment = (screen: string): string =>
  screen
    .replace(/\d\d:\d\d:\d\d( [+-]\d\d:\d\d)?/g, "TIME")
    .replace(/(current)(?: +(?:in \d+ s|now))?$/gm, "$1")
    .replace(/\d+(?:\.\d+)? (?:ms|s|[KM]?i?B)/g, "N")
    .replace(/ +[▁▂▃▄▅▆▇█]+$/gm, "")
    .replace(/ +/g, " ")
    .replace(/\s+$/gm, "");

/** Command lines of the processes that name a folder. */
async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  // The terminal itself was started with the folder in its command.
  return lines.filter((line) => line.includes(folder) && !/^tmux|^\/bin\/sh\0-c/.test(line));
}
