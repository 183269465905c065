// Holds: which programs a host must have, and what it says of others (lib/agent/applications/programs.ts,
// lib/agent/applications/launchers.ts)
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { launcherOf } from "../../../../lib/agent/applications/launchers.ts";
import { programAt, requirePrograms } from "../../../../lib/agent/applications/programs.ts";
import { application } from "../../../../lib/contract/files/application.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const never = new AbortController().signal;

t.test("a program is a file that may be executed, in the first folder that has one", async (t) => {
  const [first, second] = [temporaryFolder(t), temporaryFolder(t)];
  mkdirSync(join(first, "tool"));
  writeFileSync(join(first, "other"), "", { mode: 0o644 });
  const folders = `${first}:${second}`;
  t.equal(await programAt("tool", folders), undefined, "a folder is none");
  for (const name of ["tool", "other"]) writeFileSync(join(second, name), "", { mode: 0o755 });
  t.equal(await programAt("tool", folders), join(second, "tool"));
  t.equal(await programAt("other", folders), join(second, "other"));
});

t.test("what a program says of its version decides, and silence is a fault", async (t) => {
  const folder = temporaryFolder(t);
  const says = (name: string, script: string) =>
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  says("good", "echo good v2.3.4");
  says("failing", "echo 2.3.4; exit 3");
  says("silent", "echo of no version");
  const asked = (needs: object) =>
    requirePrograms(new Map([["web", application.parse({ command: ["good"], needs })]]), never, folder);
  await asked({ good: "^2.3" });
  await t.rejects(asked({ good: "^3", failing: "^2", silent: "^2" }), {
    code: "needs_unmet",
    faults: [
      /^web needs good \^3: \S+\/good is 2\.3\.4$/,
      /^web needs failing \^2: `\S+\/failing --version` failed: /,
      /^web needs silent \^2: `\S+\/silent --version` states no version: of no version$/,
    ],
  });
});

t.test("a job and a health command need the program that ends them in time", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "sh"), "", { mode: 0o755 });
  const asked = (more: object) =>
    requirePrograms(new Map([["web", application.parse({ command: ["sh"], ...more })]]), never, folder);
  await asked({});
  const refused = { code: "needs_unmet", message: /web needs timeout: it is not installed/ };
  await t.rejects(asked({ schedule: "30 3 * * *" }), refused);
  await t.rejects(asked({ health: { command: ["sh"] } }), refused);
});

t.test("a program that has gone since makes no launcher", async (t) => {
  const app = application.parse({ command: ["gone"] });
  await t.rejects(launcherOf(["gone"], app, { folders: temporaryFolder(t) }), {
    code: "needs_unmet",
    message: "The program gone is gone.",
  });
});
