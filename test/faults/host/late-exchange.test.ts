/** An adoption is killed while its program is about to exchange a folder and a link, and the program lives on. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, watch } from "node:fs";
import { chmod, lstat, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { ADOPTING, adoptingOptions, BY_HAND } from "../../support/host/adopting.ts";
import { plant } from "../../support/host/project-root.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PROGRAM = fileURLToPath(new URL("../../support/programs/adopting-program.ts", import.meta.url));
/** `mv --exchange --no-target-directory -- FOLDER LINK`, as the system call alone. */
const EXCHANGE = `perl -e 'exit(syscall(316, -100, $ARGV[0], -100, $ARGV[1], 2) == 0 ? 0 : 1)' "$4" "$5"`;
const skip = process.arch === "x64" && process.platform === "linux" ? false : "the system call has another number";

t.test("the next run waits for the program of a killed one, and does not exchange twice", { skip }, async (t) => {
  const root = temporaryFolder(t);
  await plant(root, BY_HAND);
  const folder = temporaryFolder(t);
  const state = (name: string): string => join(folder, "state", name);
  await mkdir(join(folder, "state"));
  await mkdir(join(folder, "bin"));
  // The first of them is slow; one that comes while it is under way lets it go first, and exchanges after it.
  const mv = `#!/bin/sh
if mkdir ${state("first")} 2>/dev/null; then sleep 1; ${EXCHANGE}; touch ${state("done")}; exit 0; fi
while [ ! -e ${state("done")} ]; do sleep 0.01; done
${EXCHANGE}
`;
  await writeFile(join(folder, "bin/mv"), mv);
  await chmod(join(folder, "bin/mv"), 0o755);
  const before = process.env.PATH;
  process.env.PATH = `${join(folder, "bin")}:${before}`;
  t.teardown(() => (process.env.PATH = before));

  const begun = watch(join(folder, "state"));
  const child = spawn(process.execPath, [PROGRAM, root], { stdio: ["ignore", "ignore", "inherit"] });
  await once(begun, "change");
  begun.close();
  child.kill("SIGKILL");
  await once(child, "exit");
  t.notOk(existsSync(state("done")), "the program outlives its run");

  t.match(await deploy(ADOPTING, adoptingOptions(root), () => {}), { status: "success" });
  t.ok((await lstat(join(root, "plugins/a"))).isSymbolicLink());
  t.equal(await readFile(join(root, "plugins/a/version"), "utf8"), "1.0.0");
  t.equal(await readFile(join(root, "plugins/a/data/own"), "utf8"), "own");
});
