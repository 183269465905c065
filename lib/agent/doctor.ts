import { readdir, readFile, rename, rm, statfs, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type TargetName, targetOfName } from "../contract/target.ts";
import { isDowngrade } from "../contract/versions.ts";
import { readGrants } from "../releases/applications.ts";
import { damageOf } from "../releases/contents.ts";
import { readStanding, sickOf } from "../releases/health.ts";
import { readJournal } from "../releases/journal.ts";
import { type Layout, layoutOf } from "../releases/layout.ts";
import { readQuarantine } from "../releases/quarantine.ts";
import { currentName, currentRelease, isAdopted, type Release, unreadableReleases } from "../releases/release.ts";
import { ifThere } from "../support/files.ts";
import { sizeText } from "../support/size-text.ts";
import { failed, type Finding, ok, warning } from "./finding.ts";
import { type ExaminedHub, hubFindings } from "./hub-findings.ts";
import { rootFindings } from "./root-standing.ts";
import { settingsFindings } from "./settings-standing.ts";
import { capital, type Supervisor, type SupervisorChoice, type SupervisorName } from "./supervisors/supervisor.ts";
import type { SystemdScope } from "./supervisors/systemd-units.ts";
import { unitStates } from "./unit-states.ts";

export interface DoctorOptions {
  projectRoot: string;
  supervisor: SupervisorChoice;
  /** Reads every byte of the running release. */
  verify?: boolean;
  /** Hub to check; undefined where none was named. */
  hub?: ExaminedHub;
}

const LEAST_FREE_BYTES = 1024 ** 3;
const FULL = "Remove files that nobody needs: deployments fail until then, and what runs goes on.";

/** Checks what a deployment on this host needs, one finding after the other. Leaves nothing changed. */
export async function* examine(options: DoctorOptions): AsyncGenerator<Finding> {
  yield ok("node", `Node.js ${process.versions.node}`);
  const layout = layoutOf(resolve(options.projectRoot));
  yield await folderFinding(layout);
  yield await spaceFinding(layout);
  yield await journalFinding(layout);
  yield* targetFindings(layout, options.verify ?? false);
  const { name, make } = options.supervisor;
  const supervisor = make === undefined ? undefined : await supervisorFinding(name, make([]));
  if (supervisor !== undefined) yield supervisor;
  if (supervisor?.status !== "failed") yield* unitFindings(layout, options.supervisor);
  yield* memberFindings(layout, options.supervisor.systemdScope ?? "system");
  if (options.hub === undefined) {
    yield warning(
      "hub",
      "No hub was named.",
      "Give --hub-url, or log in with `sealift login URL`, to have it looked at.",
    );
    return;
  }
  yield* hubFindings(options.hub);
}

/** Checks the file system: the switch renames a link, so it must support that. */
async function folderFinding({ root }: Layout): Promise<Finding> {
  const [link, other] = [join(root, `.doctor-${process.pid}`), join(root, `.doctor-${process.pid}-renamed`)];
  try {
    await symlink("nowhere", link);
    await rename(link, other);
    return ok("project root", `${root} can be written, and has links that can be renamed`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOSPC" || code === "EDQUOT") return failed("project root", `${root} has no room left`, FULL);
    if (code === "ENOENT") return warning("project root", `${root} does not exist yet; the first deployment makes it`);
    const hint = "Run as the user who deploys, on a file system with symbolic links.";
    return failed("project root", `${root} cannot be used: ${message}`, hint);
  } finally {
    for (const path of [link, other]) await rm(path, { force: true }).catch(() => {});
  }
}

async function spaceFinding({ root }: Layout): Promise<Finding> {
  try {
    const { bavail, bsize, files, ffree } = await statfs(root);
    const free = bavail * bsize;
    if (free === 0) return failed("disk", "The disk is full", FULL);
    // File systems that make inodes as they need them state none.
    if (files > 0 && ffree === 0) return failed("disk", "The disk has no inode left for another file", FULL);
    const message = `${sizeText(free)} are free`;
    if (free >= LEAST_FREE_BYTES) return ok("disk", message);
    const hint =
      "A deployment needs room for the new release beside the old ones; --keep-releases lowers their number.";
    return warning("disk", message, hint);
  } catch (error) {
    return warning("disk", `The free space is not known: ${(error as Error).message}`);
  }
}

async function journalFinding(layout: Layout): Promise<Finding> {
  const journal = await readJournal(layout);
  if (journal === undefined) return ok("journal", "No deployment is half done");
  const { target, resolved_version: version, started_at: at } = journal;
  const holder = await ifThere(readFile(`${layout.lock}.holder`, "utf8"));
  const message = `A deployment of ${target} ${version ?? ""} began at ${at}${holder === undefined ? " and was cut short" : `, by ${holder}`}`;
  return warning("journal", message, "If nothing is running, the next deployment or watch undoes it.");
}

async function* targetFindings(layout: Layout, digests: boolean): AsyncGenerator<Finding> {
  const targets = await readdir(layout.releases()).catch(() => []);
  for (const target of targets.toSorted() as TargetName[]) {
    const running = await currentRelease(layout, target);
    const unreadable = await unreadableReleases(layout, target);
    const current = await currentName(layout, target);
    const check = `target ${target}`;
    if (running === undefined && (current === undefined || !unreadable.includes(current)))
      yield warning(check, "Nothing runs");
    if (running !== undefined) yield await releaseFinding(layout, target, running, digests);
    if (running !== undefined && !isAdopted(running)) yield* signerFinding(target, running);
    yield* rootFindings(layout, target, Date.now());
    yield* settingsFindings(layout, target);
    const sick = sickOf(await readStanding(layout, target));
    if (sick !== undefined)
      yield warning(
        check,
        `${running?.version} is unhealthy since ${sick.since}: ${sick.message}`,
        "A watch found so after the deployment, and does not go back by itself: `sealift rollback TARGET` does.",
      );
    for (const name of unreadable) {
      const runs = name === current;
      const release = runs ? `${name}, which runs,` : name;
      yield warning(
        check,
        `The record of the release ${release} cannot be read: it is damaged, or of a newer version of Sealift`,
        runs
          ? "It runs on. Upgrade Sealift on this host, or deploy again if the record is damaged."
          : "It is kept, and not used. Upgrade Sealift, or remove its folder below .sealift/releases.",
      );
    }
    // A version lower than the running one will not be tried again.
    const held = (await readQuarantine(layout, target)).filter(
      ({ version }) => running === undefined || !isDowngrade(running.version, version),
    );
    for (const { version, reason, signers } of held) {
      const other = signers === undefined ? "`sealift watch retry` is run" : "this host accepts other signers";
      const hint = `A watch leaves it out until a newer one comes, or ${other}.`;
      yield warning(check, `${version} is in quarantine: ${reason}`, hint);
    }
  }
}

/** Reports a plugin or service whose author's key is not pinned; a project's signer always is. */
function* signerFinding(target: TargetName, { version, signer = null }: Release): Generator<Finding> {
  if (signer !== null || targetOfName(target).kind === "project") return;
  const message = `${version} was deployed without a pinned signer: whoever knows the signing secret can forge versions`;
  yield warning(`target ${target}`, message, "Pin its author's key with --signer-public-key, once it signs versions.");
}

async function releaseFinding(
  layout: Layout,
  target: TargetName,
  running: Release,
  digests: boolean,
): Promise<Finding> {
  const check = `target ${target}`;
  const message = `${running.version} runs since ${running.created_at}`;
  const damage = await damageOf(layout, target, running, { digests });
  if (damage === undefined) return ok(check, digests ? `${message}, every byte as it was installed` : message);
  const hint = "Deploy it again: a damaged release is fetched anew.";
  return failed(check, `${message}, but it is damaged: ${damage}`, hint);
}

/** Checks whether a supervisor is ready, as a deployment does before it fetches anything. */
async function supervisorFinding(check: SupervisorName, supervisor: Supervisor): Promise<Finding> {
  const why = await supervisor.ready();
  if (why === undefined) return ok(check, "It answers");
  return failed(check, `It cannot work: ${why}`, "Start it, or choose another --supervisor.");
}

/** Asks every unit that should run whether it does. */
async function* unitFindings(layout: Layout, supervisor: SupervisorChoice): AsyncGenerator<Finding> {
  for await (const { unit, fault } of unitStates(layout, supervisor)) {
    const hint = "Look at its log, and start it; or go back: `sealift rollback TARGET`.";
    yield fault === undefined ? ok(`unit ${unit}`, "It runs") : failed(`unit ${unit}`, capital(fault), hint);
  }
}

/** Warns of applications whose processes nothing tells from others. */
async function* memberFindings(layout: Layout, scope: SystemdScope): AsyncGenerator<Finding> {
  const grants = await readGrants(layout).catch(() => undefined);
  if (grants === undefined) return;
  const { applicationRunner } = await import("./supervisors/applications.ts");
  const runner = applicationRunner({ layout, grants, systemdScope: scope });
  for (const id of Object.keys(grants.applications)) {
    const found = await runner.look(id).catch(() => undefined);
    if (found?.membership !== "none") continue;
    const message = "Nothing tells its processes from others: a hostile version may outlive its successor";
    const hint = "Run `app serve` as root with --user, by the unit sealift-apps.service or with --alone.";
    yield warning(`application ${id}`, message, hint);
  }
}
