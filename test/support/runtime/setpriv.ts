import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import { needs, programFile } from "../programs/optional.ts";

const STAND_IN = fileURLToPath(new URL("../programs/setpriv.py", import.meta.url));

const help = spawnSync("setpriv", ["--help"], { encoding: "utf8" }).stdout ?? "";
const knowsLandlock = help.includes("--landlock-access") && help.includes("--seccomp-filter");

/** For tap's `skip`: false where {@link setprivFolder} can make a folder. */
export const noSetpriv = !knowsLandlock && needs("python3");

/** Returns a folder for PATH whose only program is a `setpriv` that knows Landlock: the system's, else the test's. */
export function setprivFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "setpriv-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  if (knowsLandlock) {
    symlinkSync(programFile("setpriv"), join(folder, "setpriv"));
  } else {
    t.comment("setpriv is too old to ask for Landlock's rules; a program of the test's own does");
    // One that the sandboxes' user may start.
    const python = ["/usr/bin/python3", "/usr/local/bin/python3"].find(existsSync) ?? programFile("python3");
    const script = `#!/bin/sh\nexec ${python} -I -S ${STAND_IN} "$@"\n`;
    writeFileSync(join(folder, "setpriv"), script, { mode: 0o755 });
  }
  return folder;
}
