/**
 * Carries out settings, and copies the project root before each change of a file: what a kill at that moment leaves.
 * Arguments: the root, the folder for copies, and the settings as JSON.
 */
import { cpSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { applySettings } from "../../../lib/agent/settings/apply.ts";
import type { AcceptedSettings } from "../../../lib/releases/fleet-settings.ts";
import { appSource, PretendedApplications } from "../host/application-host.ts";

const [root, copies, text] = process.argv.slice(2) as [string, string, string];
let count = 0;
const functions = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
for (const name of ["rename", "rm", "open", "link", "symlink", "mkdir", "chmod", "writeFile", "unlink"]) {
  const real = functions[name]!;
  functions[name] = (...args: unknown[]) => {
    const isReading = name === "open" && (args[1] === "r" || args[1] === undefined || typeof args[1] === "number");
    if (!isReading) cpSync(root, join(copies, String(count++)), { recursive: true, verbatimSymlinks: true });
    return real(...args);
  };
}
syncBuiltinESMExports();

const pretended = new PretendedApplications(root);
const supervisor = { name: "none" as const, applications: async () => pretended.supervisor() };
const settings = JSON.parse(text) as AcceptedSettings;
const { state } = await applySettings(
  appSource("1.0.0"),
  settings,
  { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor },
  () => undefined,
);
process.stdout.write(`${state} ${count}\n`);
