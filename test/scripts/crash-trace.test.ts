// Only in test:all: power cuts at every step.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { differences, Disk } from "../../scripts/crash/disk.ts";
import { readStrace, straceOptions } from "../../scripts/crash/strace.ts";
import { needs } from "../support/programs/optional.ts";
import { summaryOf, type TraceSummary } from "../support/programs/trace-summary.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const PROGRAM = fileURLToPath(new URL("../support/programs/traced-deployment-program.ts", import.meta.url));

t.test("the hook and strace see the same deployment", { skip: needs("strace") }, (t) => {
  const folder = temporaryFolder(t);
  const [root, log, output] = ["root", "strace.log", "hook.json"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(root);
  const disk = new Disk(root);
  const { status } = spawnSync("strace", [...straceOptions(log), process.execPath, PROGRAM, folder, root, output], {
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 120_000,
    env: { ...process.env, UV_USE_IO_URING: "0" },
  });
  t.equal(status, 0);
  readStrace(disk, readFileSync(log, "utf8"), { root });
  t.same(differences(disk, root), [], "strace has seen everything");
  const hook = JSON.parse(readFileSync(output, "utf8")) as { status: string; summary: TraceSummary };
  t.equal(hook.status, "success");
  t.same(hook.summary, summaryOf(disk));
  t.ok(hook.summary.ordered.includes("barrier"));
  t.end();
});
