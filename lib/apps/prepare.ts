import { spawn } from "node:child_process";
import { deploymentError } from "../contract/errors.ts";
import { APPLICATIONS_FILE, APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import { type InstalledApplication, readGrants, readInstalled } from "../releases/applications.ts";
import { giveData } from "../releases/data-folders.ts";
import type { Layout } from "../releases/layout.ts";

/**
 * Makes an installed application ready to start, as its own user: what its release ships is in the host's data folder.
 * A unit asks this before each start, whoever begins it.
 *
 * @returns the application
 * @throws DeploymentError `app_not_allowed` or `app_not_installed`: nothing is to start
 */
export async function readyApplication(layout: Layout, id: string): Promise<InstalledApplication> {
  const grants = await readGrants(layout);
  if (grants?.applications[id] === undefined)
    throw deploymentError("app_not_allowed", `${APPLICATIONS_FILE} of ${layout.root} does not grant ${id}.`, {
      hint: `\`sudo sealift systemd install app ${id}\` grants it.`,
    });
  if (grants.supervisor !== "systemd")
    throw deploymentError("app_not_allowed", `\`app serve\` runs ${id}, by ${APPLICATIONS_FILE} of ${layout.root}.`, {
      hint: `Disable its unit: \`systemctl disable --now sealift-app@${id}.service\`.`,
    });
  const installed = await readInstalled(layout, id);
  if (installed === undefined)
    throw deploymentError("app_not_installed", `The application ${id} is not installed in ${layout.root}.`, {
      hint: "Deploy a version that has it; `sealift status` shows what is installed.",
    });
  await seedData(layout, id, installed);
  return installed;
}

/**
 * Runs the migration of an application, if it has one, with this process's environment and outputs.
 *
 * @throws DeploymentError `migration_failed`
 */
export async function migrateApplication(id: string, { app, folder }: InstalledApplication): Promise<void> {
  if (app.migrate === undefined) return;
  const { LISTEN_FDS: _fds, LISTEN_PID: _pid, LISTEN_FDNAMES: _names, ...env } = process.env;
  const child = spawn("/bin/sh", [".sealift/migrate"], { cwd: folder, env, stdio: ["ignore", "inherit", "inherit"] });
  const why = await new Promise<string | undefined>((resolve) => {
    child.once("error", ({ message }) => resolve(message));
    child.once("exit", (code, signal) =>
      resolve(code === 0 ? undefined : signal === null ? `it ended with exit code ${code}` : `${signal} ended it`),
    );
  });
  if (why !== undefined) throw deploymentError("migration_failed", `The migration of ${id} failed: ${why}.`);
}

/** Puts what a release ships into the host's data folder of an application, where it is missing. */
export async function seedData(
  layout: Layout,
  id: string,
  { app: { data }, target, release }: InstalledApplication,
): Promise<void> {
  if (data !== undefined) await giveData(layout, target, release, { section: APPLICATIONS_FOLDER, id, data });
}
