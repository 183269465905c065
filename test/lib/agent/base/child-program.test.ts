import t from "tap";
import { describeFailure, runProgram } from "../../../../lib/agent/base/child-program.ts";

const failureOf = async (...command: [string, ...string[]]): Promise<string> =>
  describeFailure(await runProgram({ command, env: {}, timeoutMs: 10_000 }), 10_000);

const crash = (code: string): Promise<string> => failureOf(process.execPath, "-e", code);

t.test("a crash is described by the error's message", async (t) => {
  const ending = "it ended with exit code 1";
  t.equal(await crash("({}).writev()"), `${ending}: TypeError: {}.writev is not a function`);
  t.equal(
    await crash("function deep(n) { if (n > 0) return deep(n - 1); throw new RangeError('too deep.') } deep(50)"),
    `${ending}: RangeError: too deep`,
  );
  t.equal(
    await crash("throw Object.assign(new Error('no hub'), { code: 'ECONNREFUSED', address: '::1', port: 9 })"),
    `${ending}: Error: no hub /   port: 9 / }`,
  );
});

t.test("another failure is described by its last three lines", async (t) => {
  t.equal(
    await failureOf("/bin/sh", "-c", "printf 'one\\ntwo\\n\\nthree\\nfour.\\n' >&2; exit 3"),
    "it ended with exit code 3: two / three / four",
  );
  t.equal(await failureOf("/bin/false"), "it ended with exit code 1");
});

/** Starts a process in a session of its own, which keeps the output open, prints its id, and ends or goes on. */
const leaving = (then: string): string =>
  `const { spawn } = require("node:child_process");
   const left = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "inherit" });
   console.log(left.pid);
   left.unref();
   ${then}`;

t.test("a process that left the group and holds the output open is not waited for beyond the time-out", async (t) => {
  const run = (then: string, options: { timeoutMs: number; signal?: AbortSignal }) =>
    runProgram({ command: [process.execPath, "-e", leaving(then)], env: {}, ...options });
  const ended = await run("", { timeoutMs: 1000 });
  t.match(ended, { code: 0, timedOut: true });
  const killed = await run("setInterval(() => {}, 1000)", { timeoutMs: 1000 });
  t.match(killed, { code: null, timedOut: true });
  const aborted = await run("", { timeoutMs: 60_000, signal: AbortSignal.timeout(1000) });
  t.match(aborted, { code: 0, timedOut: false });
  for (const { stdout } of [ended, killed, aborted]) process.kill(Number(stdout), "SIGKILL");
});
