import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { judged, type Row, unjudged } from "../row.ts";
import type { Idle, IdleState } from "./host.ts";

const HOST = join(import.meta.dirname, "host.ts");
const MONTH_S = 30 * 24 * 60 * 60;
/** Polls of a month: one an hour, shortened by a twentieth on average so that hosts do not ask in step. */
const POLLS_IN_MONTH = MONTH_S / (0.95 * 60 * 60);
const STATES: readonly IdleState[] = ["published", "unpublished", "held"];
const PROGRAMS = ["unshare", "ip", "strace", "zip"];

/** Runs a program in a network namespace of its own, as an ordinary user in one of users, too. */
function inNamespace(command: readonly string[]): [string, string[]] {
  const asUser = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  return ["unshare", ["--net", ...asUser, "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", ...command]];
}

async function idleOf(folder: string, state: IdleState, targets: number, seconds: number): Promise<Idle> {
  const at = join(folder, `${state}-${targets}`);
  const [program, args] = inNamespace([process.execPath, HOST, at, state, String(targets), String(seconds)]);
  const { stdout } = await promisify(execFile)(program, args, { env: { PATH: process.env.PATH, TMPDIR: folder } });
  return JSON.parse(stdout) as Idle;
}

/** Returns megabytes in a month: what idling takes, and a poll an hour. */
function monthOf({ seconds, bytes, poll }: Idle, kind: "tls" | "packets"): number {
  return (bytes[kind] * (MONTH_S / seconds) + poll[kind] * POLLS_IN_MONTH) / 1e6;
}

function rowsOf(state: IdleState, targets: number, idle: Idle): Row[] {
  const about = `${state}, ${targets === 1 ? "one target" : `${targets} targets`}`;
  const { changes, seconds, bytes, poll, memory, bare, cpuSeconds } = idle;
  const wire = `${monthOf(idle, "packets").toFixed(1)} MB with the headers of packets`;
  const rows: Row[] = [
    judged("idle_changes", changes.length, changes[0]?.slice(0, 60) ?? `in ${seconds} s`, about),
    judged("idle_bytes", monthOf(idle, "tls"), `${bytes.tls} B in ${seconds} s, a poll ${poll.tls} B; ${wire}`, about),
    judged("idle_anonymous", memory.anonymous, `bare node ${bare.anonymous.toFixed(1)} MB`, about),
    judged(
      "idle_resident",
      memory.resident / bare.resident,
      `${memory.resident.toFixed(1)} MB against ${bare.resident.toFixed(1)}`,
      about,
    ),
    unjudged(`idle watch: processor, ${about}`, "", (cpuSeconds / seconds) * 1000, "ms a second", ""),
  ];
  // The goals are those of a host with one target.
  return targets === 1 ? rows : rows.map((row, index) => (index === 0 ? row : { ...row, budget: "–", ok: true }));
}

/**
 * Measures watches that have nothing to do, each with a hub over TLS in a network namespace: bytes and memory as the
 * kernel counts them, and calls that change the disk as strace sees them.
 */
export async function idleRows(folder: string, seconds: number): Promise<Row[]> {
  const missing = PROGRAMS.filter((name) => spawnSync("which", [name]).status !== 0);
  const [program, args] = inNamespace(["true"]);
  if (missing.length > 0 || spawnSync(program, args).status !== 0) {
    const why = missing.length > 0 ? `${missing.join(", ")} missing` : "a network namespace is refused";
    console.error(`idle watches are not measured: ${why}`);
    return [];
  }
  const cases = [1, 10].flatMap((targets) => STATES.map((state) => ({ state, targets })));
  const measured = await Promise.all(
    cases.map(async ({ state, targets }) => rowsOf(state, targets, await idleOf(folder, state, targets, seconds))),
  );
  return measured.flat();
}
