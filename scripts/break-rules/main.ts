/**
 * `npm run break-rules`: takes rules out of the sources, one after the other, and tells which tests notice. A rule is
 * an `if` that only refuses or leaves, or one condition of several; a seed draws them from every room by turns, or from
 * `--rooms`, expressions of paths that each name one. For each, the tests that reach its file run in the order of
 * `npm run check`, until one fails. The table says whether one of those that `check` runs noticed (with its place), one
 * of the core (`npm test`), or only one of `npm run test:all`. Tests of built programs are left out. With
 * `--until check` or `core` no others run, since a rule that nobody notices runs every test. Ends with 1 if more than
 * `--unseen` rules go unnoticed by check and core, or by check alone where no others run.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import PQueue from "p-queue";
import { filesOf } from "../../test/support/selection.ts";
import { scriptArguments } from "../arguments.ts";
import { Random } from "../fuzz/random.ts";
import { APART, nearestTests } from "../nearest-tests.ts";
import { type Guard, guardsByRoom } from "./guards.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    rules: { type: "string", default: "40" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    rooms: { type: "string", multiple: true, default: [] },
    unseen: { type: "string", default: "2" },
    jobs: { type: "string", default: "2" },
    until: { type: "string", default: "test:all" },
  },
});
/** Files of tests that `npm run check` runs. */
const CHECKED = 30;
/** Seconds for a file, as in `npm run check`. */
const SEALIFT_FILE_LIMIT = "240";
/** Seconds for a test in a file: by default it has 30, which a busy machine exceeds. */
const TAP_TIMEOUT = "120";
const GROUP_LIMIT_MS = 900_000;

/** Draws rules from every room by turns. */
function drawn(count: number, random: Random): Guard[] {
  const named = values.rooms.map((room) => new RegExp(room));
  const rooms = [...guardsByRoom(named).values()].filter((guards) => guards.length > 0);
  const found: Guard[] = [];
  for (let turn = 0; found.length < count && rooms.some((guards) => guards.length > 0); turn++) {
    const guards = rooms[turn % rooms.length]!;
    if (guards.length > 0) found.push(...guards.splice(random.below(guards.length), 1));
  }
  return found.filter(({ file, rule }) => `${file} ${rule}`.includes(values.only));
}

/** Processes that run tests, each with a group of its own: the programs that a test has started end with it. */
const groups = new Set<number>();
function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    for (const leader of groups) endGroup(leader);
    process.exit(1);
  });

/**
 * Runs files of tests in one process, with a rule taken out if one is given.
 *
 * @returns the first assertion that failed, or undefined; a process that hangs or dies has noticed, too
 */
async function failureOf(guard: Guard | undefined, id: string, files: readonly string[]): Promise<string | undefined> {
  const group = `.tap/rule-${id}.test.mjs`;
  const call = `together(...${JSON.stringify(files)});`;
  writeFileSync(group, `import { together } from "../test/support/together.ts";\n${call}\n`);
  const modules = [
    "./test/support/tsx.ts",
    ...(guard === undefined ? [] : ["./test/support/programs/put-in-fault.ts"]),
  ];
  const hooks = modules.map((hook) => `--import=${hook}`);
  const args = ["--disable-warning=ExperimentalWarning", "--require=./test/support/unrecorded.ts", ...hooks, group];
  const env = {
    ...process.env,
    SEALIFT_PUT_IN: JSON.stringify(guard),
    SEALIFT_FILE_LIMIT,
    TAP_TIMEOUT,
    TAP_CHILD_ID: "rule",
    TAP_BAIL: "1",
  };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "ignore"], detached: true });
  const end = (): void => endGroup(child.pid!);
  groups.add(child.pid!);
  const limit = setTimeout(end, GROUP_LIMIT_MS);
  let report = "";
  let file = "";
  for await (const piece of child.stdout.setEncoding("utf8")) {
    report += piece as string;
    if (/^\s*not ok/m.test(report)) end();
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  clearTimeout(limit);
  end();
  groups.delete(child.pid!);
  rmSync(group);
  for (const line of report.split("\n")) {
    file = /^ *# Subtest: (test\/.*)$/.exec(line)?.[1] ?? file;
    const failed = /^\s*not ok \d+ - (.*)$/.exec(line)?.[1];
    if (failed !== undefined) return `${file}: ${failed.split(" # ")[0]!}`;
  }
  return child.exitCode === 0 ? undefined : `${file}: the process ended with ${child.exitCode ?? child.signalCode!}`;
}

interface Noticed {
  by: "check" | "core" | "test:all" | "nothing";
  what: string;
}

/** Tells who notices that a rule has gone. */
async function noticed(guard: Guard, id: string): Promise<Noticed> {
  const { holding, reaching } = nearestTests([guard.file]);
  const tests = [...holding, ...reaching].filter((test) => !APART.test(test));
  const checked = tests.slice(0, Math.max(CHECKED, holding.length));
  const core = filesOf("core", tests.slice(checked.length), "");
  const rest = filesOf("rest", tests.slice(checked.length), "");
  for (const [by, files] of [
    ["check", checked],
    ["core", values.until === "check" ? [] : core],
    ["test:all", values.until === "test:all" ? rest : []],
  ] as const)
    for (let at = 0, size = 5; at < files.length; at += size, size *= 2) {
      let group = files.slice(at, at + size);
      while (group.length > 0) {
        const what = await failureOf(guard, id, group);
        if (what === undefined) break;
        const [file] = what.split(": ");
        if (file === "" || (await failureOf(undefined, id, [file!])) === undefined) return { by, what };
        // A test that fails with the rule, too, has not noticed anything, and has kept the others from running.
        const others = group.filter((one) => one !== file);
        group = others.length < group.length ? others : [];
      }
    }
  return { by: "nothing", what: "" };
}

mkdirSync(".tap", { recursive: true });
const counts = { check: 0, core: 0, "test:all": 0, nothing: 0 };
const queue = new PQueue({ concurrency: Number(values.jobs) });
await queue.addAll(
  drawn(Number(values.rules), new Random(Number(values.seed))).map((guard, index) => async () => {
    const { by, what } = await noticed(guard, `${process.pid}-${index}`);
    counts[by]++;
    console.log(`| ${guard.file}:${guard.line} | ${guard.rule.slice(0, 80)} | ${by} | ${what.slice(0, 160)} |`);
  }),
);
console.log(JSON.stringify(counts));
const unseen = counts["test:all"] + counts.nothing + (values.until === "check" ? counts.core : 0);
process.exitCode = unseen > Number(values.unseen) ? 1 : 0;
