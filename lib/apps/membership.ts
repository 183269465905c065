import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import type { ApplicationGrant } from "../contract/files/applications.ts";
import type { MembershipKind } from "../contract/surfaces/app-serve.ts";
import type { FoundMembers, MemberGroup } from "../support/control-groups/member-groups.ts";
import { setpriv } from "./guard.ts";
import { processesOf } from "./processes.ts";
import { ServeFault } from "./serve-fault.ts";
import type { RunAs } from "./user.ts";

/**
 * Ways in which the kernel, and not the accused, says which processes are an application's: a control group of its own;
 * as root a user who runs nothing else; or none, where it runs as the user of `app serve`.
 */
export interface Membership {
  readonly kind: MembershipKind;
  /** Why it is no better one; undefined for a group. */
  readonly reason?: string;
  readonly group?: MemberGroup;
  readonly uid?: number;
}

/** Time limit for killed processes to be gone, in milliseconds. */
export const GONE_LIMIT_MS = 10_000;

/** Users below belong to the system, and the last one stands for everybody unknown. */
const FIRST_USER = 100;
const NOBODY = 65_534;

/** Facts by which a membership is chosen. */
export interface MembershipFacts {
  id: string;
  user: RunAs;
  grant: Pick<ApplicationGrant, "alone">;
  /** Control groups, or why there are none. */
  found: FoundMembers;
  /** Ids of the users of other grants of this root, and of whoever deploys. */
  others: ReadonlyMap<number, string>;
  /** Whether an `app serve` of this root has run the application as this user alone since the boot. */
  ranBefore: boolean;
}

/**
 * Returns the first membership that is to be had. Without control groups a user counts who is the application's alone:
 * in a container by itself, elsewhere where the grant says `alone`.
 *
 * @throws ServeFault `not_granted` where the grant says `alone` and the user is not
 */
export async function membershipOf(facts: MembershipFacts): Promise<Membership> {
  const { id, user, grant, found } = facts;
  if (user.ids === undefined) return { kind: "none", reason: `it runs as ${user.name}, like \`app serve\`` };
  if (found.members !== undefined && setpriv() !== undefined) return { kind: "group", group: found.members.of(id) };
  const why = found.members === undefined ? found.reason : "this machine has no setpriv of util-linux";
  if (!grant.alone && !inContainer()) return { kind: "none", reason: `${why}, and the grant does not say \`alone\`` };
  const shared = await sharedWith(facts, user.ids.uid);
  if (shared === undefined) return { kind: "user", reason: why, uid: user.ids.uid };
  if (grant.alone)
    throw new ServeFault("not_granted", `${id} is to have the user ${user.name} for itself, but ${shared}.`);
  return { kind: "none", reason: `${why}, and ${shared}` };
}

/** Returns whom or what a user runs beside the application, if any. */
async function sharedWith({ others, ranBefore }: MembershipFacts, uid: number): Promise<string | undefined> {
  if (uid < FIRST_USER || uid === NOBODY) return "that is a user of the system";
  const holder = others.get(uid);
  if (holder !== undefined) return `${holder} is the same user (${uid})`;
  if (ranBefore) return undefined;
  const running = await processesOf(uid);
  return running.length === 0 ? undefined : `it runs the process ${running[0]} already`;
}

/** Tells whether this is a container: only whoever put programs into it has users there. */
function inContainer(): boolean {
  if (["/.dockerenv", "/run/.containerenv", "/run/systemd/container"].some((file) => existsSync(file))) return true;
  if (process.env.KUBERNETES_SERVICE_HOST !== undefined) return true;
  try {
    return /(?:^|\0)container=/.test(readFileSync("/proc/1/environ", "latin1"));
  } catch {
    return false;
  }
}

/**
 * Kills every process of a membership, and waits until none is left. Does nothing for `none`, which tells nobody.
 *
 * @returns the processes that do not end
 */
export async function endMembers({ group, uid }: Membership): Promise<number[]> {
  if (group !== undefined) return group.end(GONE_LIMIT_MS);
  if (uid === undefined) return [];
  if (uid < FIRST_USER) throw new Error(`user ${uid} is the system's`);
  const limit = performance.now() + GONE_LIMIT_MS;
  for (;;) {
    const left = await processesOf(uid);
    if (left.length === 0 || performance.now() > limit) return left;
    // A container whose processes are at their limit lets no other one start.
    for (const pid of left) killOne(pid);
    await killAllOf(uid);
  }
}

function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

/** Kills all processes of a user at once: the kernel goes through its list, which no fork slips by. */
async function killAllOf(uid: number): Promise<void> {
  const child = spawn("/bin/sh", ["-c", "kill -KILL -1"], { uid, gid: uid, stdio: "ignore", env: {}, cwd: "/" });
  await new Promise((resolve) => child.once("exit", resolve).once("error", resolve));
}
