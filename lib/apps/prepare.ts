import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { deploymentError } from "../contract/errors.ts";
import { isJob } from "../contract/files/application-kinds.ts";
import { APPLICATIONS_FILE, APPLICATIONS_FOLDER, HOST_FOLDER, MIGRATE } from "../contract/files/application-names.ts";
import type { ApplicationsFile } from "../contract/files/applications.ts";
import { grantOf } from "../contract/files/granted.ts";
import { type InstalledApplication, readGrants, readInstalled } from "../releases/applications.ts";
import { giveData } from "../releases/data-folders.ts";
import { healthUrl } from "../releases/health-url.ts";
import type { Layout } from "../releases/layout.ts";
import { probe } from "../support/network/probe.ts";

/** Time between two questions to an application that others wait for, and the least that an answer may take. */
const PAUSE_MS = 200;
const LEAST_ANSWER_MS = 1_000;

/**
 * Makes an installed application ready to start, as its own user: what its release ships is in the host's data folder.
 * A unit asks this before each start, whoever begins it.
 *
 * @returns the application
 * @throws DeploymentError `app_not_allowed` or `app_not_installed`: nothing is to start
 */
export async function readyApplication(layout: Layout, id: string): Promise<InstalledApplication> {
  const grants = await readGrants(layout);
  const grant = grantOf(grants?.applications, id);
  if (grants === undefined || grant === undefined)
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
  if (installed.app.of !== grant.of)
    throw deploymentError(
      "app_not_allowed",
      `${id} is of ${installed.app.of ?? "nobody"}, and ${APPLICATIONS_FILE} says otherwise.`,
      {
        hint: HOW_TO_GRANT(id, installed.app.of),
      },
    );
  await seedData(layout, id, installed);
  if (grant.of !== undefined && !isJob(installed.app)) await baseAnswers(layout, grants, grant.of);
  return installed;
}

const HOW_TO_GRANT = (id: string, of: string | undefined): string =>
  `\`sudo sealift systemd install app ${id}${of === undefined ? "" : ` --of ${of}`}\` grants it.`;

/**
 * Waits until the application that another one is of answers, where it has a health path. systemd has started it.
 *
 * @throws DeploymentError `unhealthy`
 */
async function baseAnswers(layout: Layout, grants: ApplicationsFile, base: string): Promise<void> {
  const installed = await readInstalled(layout, base);
  const url = installed && healthUrl(grants, base, installed.app);
  if (url === undefined) return;
  const limit = performance.now() + installed!.app.health.within * 1000;
  for (;;) {
    const fault = await probe(url, undefined, Math.max(LEAST_ANSWER_MS, Math.ceil(limit - performance.now())));
    if (fault === undefined) return;
    if (performance.now() >= limit) throw deploymentError("unhealthy", `${base} does not work: ${fault}.`);
    await sleep(PAUSE_MS);
  }
}

/**
 * Runs the migration of an application, if it has one, with this process's environment and outputs.
 *
 * @throws DeploymentError `migration_failed`
 */
export async function migrateApplication(id: string, { app, folder }: InstalledApplication): Promise<void> {
  if (app.migrate === undefined) return;
  const { LISTEN_FDS: _fds, LISTEN_PID: _pid, LISTEN_FDNAMES: _names, ...env } = process.env;
  const child = spawn("/bin/sh", [`${HOST_FOLDER}/${MIGRATE}`], {
    cwd: folder,
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
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
