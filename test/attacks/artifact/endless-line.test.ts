// Only in test:all: a program prints 1.2 GB.
/** A provisioner that prints 1.2 GB without a newline ended the agent, and a watch at each of its starts. */
import t from "tap";
import { runProgram } from "../../../lib/agent/base/child-program.ts";

const run = (script: string) => {
  const lines: string[] = [];
  const result = runProgram({
    command: ["sh", "-c", script],
    env: process.env,
    timeoutMs: 120_000,
    onLine: (line) => lines.push(line),
  });
  return result.then((ended) => ({ ...ended, lines }));
};

t.test("a line without an end is cut as it comes", async (t) => {
  for (const output of ["", " >&2"]) {
    const before = process.memoryUsage.rss();
    const { code, lines, stdout } = await run(`head -c 400000000 /dev/zero | tr '\\0' x${output}`);
    t.equal(code, 0);
    t.strictSame(lines, ["x".repeat(4096)]);
    t.ok(stdout.length <= 1024 * 1024);
    const grown = (process.memoryUsage.rss() - before) / 1024 / 1024;
    t.ok(grown < 200, `${grown.toFixed(0)} MB`);
  }
});

t.test("lines are told as they were printed", async (t) => {
  const { lines } = await run(`printf 'a\\r\\n\\n'; printf 'caf\\303'; sleep 0.1; printf '\\251\\nlast'`);
  t.strictSame(lines, ["a", "", "café", "last"]);
});
