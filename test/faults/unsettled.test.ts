// Only in test:all: every program is started several times.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import type { Ended } from "../support/programs/command-line.ts";

const BIN = fileURLToPath(new URL("../../bin/", import.meta.url));
const PROGRAMS = readdirSync(BIN).filter((name) => !["launch.ts", "one-file.ts"].includes(name));

const run = (...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });

/** Writes a program whose work is the given code. */
function program(t: Test, work: string, options = "{}"): string {
  const file = join(t.testdir(), "program.ts");
  writeFileSync(file, `import { launch } from ${JSON.stringify(`${BIN}launch.ts`)};\nlaunch(${work}, ${options});\n`);
  return file;
}

t.test("a program whose work never settles ends with 70 and says so, when nothing is left to wait for", async (t) => {
  const never = "() => new Promise(() => {})";
  for (const options of ["{}", `{ nodeFlags: ["--max-semi-space-size=4"] }`, "{ loadsPlugins: true }"]) {
    const { code, stdout, stderr } = await run(program(t, never, options));
    t.equal(code, 70, options);
    t.equal(stdout, "");
    t.match(stderr, /^error \(unsettled\): the program ended before its work had/, options);
  }
});

t.test("a program that settles ends with its own code, however that comes", async (t) => {
  const cases: [work: string, code: number, says: RegExp][] = [
    ["async () => 0", 0, /^$/],
    ["async () => 6", 6, /^$/],
    ["async () => { setTimeout(() => {}, 50); return 0; }", 0, /^$/],
    ["() => new Promise(() => { process.exit(0); })", 0, /^$/],
    [`async () => { throw new Error("no"); }`, 1, /^error \(internal\): Error: no/],
    [`() => new Promise(() => { setImmediate(() => { throw new Error("no"); }); })`, 1, /Error: no/],
  ];
  for (const [work, code, says] of cases) {
    const ended = await run(program(t, work));
    t.equal(ended.code, code, work);
    t.match(ended.stderr, says, work);
    t.notMatch(ended.stderr, "(unsettled)", work);
  }
});

t.test("a signal that ends a program is its end, also in the middle of its work", async (t) => {
  const waiting = "() => new Promise(() => { setInterval(() => {}, 1000); process.stdout.write('ready'); })";
  const child = spawn(process.execPath, [program(t, waiting)], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGTERM");
  t.strictSame(await once(child, "exit"), [null, "SIGTERM"]);
});

t.test("help and mistaken command lines of every program end with 0 and 2", async (t) => {
  await Promise.all(
    PROGRAMS.map(async (name) => {
      t.equal((await run(join(BIN, name), "--help")).code, 0, name);
      const mistaken = await run(join(BIN, name), "--no-such-option");
      t.equal(mistaken.code, 2, name);
      t.notMatch(mistaken.stderr, "(unsettled)", name);
    }),
  );
});
