import { chmod, readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import t from "tap";
import { Terminal } from "../support/programs/terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const QUICKSTART = fileURLToPath(new URL("../../scripts/quickstart.ts", import.meta.url));

t.test(
  "npm start on a terminal ends with the dashboard, in which a new version arrives, until q",
  { timeout: 180_000 },
  async (t) => {
    const folder = temporaryFolder(t);
    // Sandboxes of a runtime that root has started are other users.
    await chmod(folder, 0o755);
    await using terminal = await Terminal.run([process.execPath, QUICKSTART], { env: { TMPDIR: folder } });
    await terminal.shows(/› plugin:tide-table +1\.1\.0 +1\.1\.0 +current/, 90_000);
    await terminal.shows(/› plugin:tide-table +1\.2\.0 +1\.2\.0 +current/, 60_000);
    await terminal.press("2");
    t.match(await terminal.shows(/host-5/), /4 hosts/, "the fleet of the quickstart");
    await terminal.press("q");
    const screen = await terminal.shows(/exit 0/, 60_000);
    t.match(screen, /Everything that this made is in/);
    t.strictSame(await processesOf(folder), [], "hub, runtime and sandboxes have ended");
  },
);

/** Command lines of the processes that name a folder. */
async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  // The terminal itself was started with the folder in its command.
  return lines.filter((line) => line.includes(folder) && !/^tmux|^(?:\/bin\/)?(?:ba|da)?sh\0-c/.test(line));
}
