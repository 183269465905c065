// Holds: a test that hangs ends, and failures are told in few words (scripts/test-report.ts, scripts/check.ts)
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { TestReport } from "../../scripts/test-report.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const cwd = fileURLToPath(new URL("../../", import.meta.url));

/** A report of tap, version 21, on two files: one in a process of its own, and one that exceeded its limit. */
const REPORT = `TAP version 14
# Subtest: .tap/check-0.test.mjs
    # Subtest: test/lib/a.test.ts
        # Subtest: outer
            # Subtest: inner
                not ok 1 - same thing
                  ---
                  diff: |
                    -  "a": 2,
                    +  "a": 1,
                  at:
                    fileName: test/lib/a.test.ts
                    lineNumber: 3
                    typeName: Test
                  source: |
                    t.strictSame({ a: 1 }, { a: 2 });
                    ---^
                  ...
                
                1..1
            not ok 1 - inner # time=42.19ms
              ---
              source: |
                await t.test("inner"
              ...
            
        not ok 1 - outer # time=54.537ms
        
        ok 2 - not here # SKIP no tmux
    not ok 1 - test/lib/a.test.ts # time=5008.808ms
    
    # Subtest: test/lib/b.test.ts
        ok 1 - fine # time=0.64ms
    ok 2 - test/lib/b.test.ts # time=4.439ms
not ok 1 - .tap/check-0.test.mjs # time=5100.1ms
  ---
  exitCode: 1
  ...
not ok 2 - timeout!
  ---
  expired: test/docs/c.test.ts
  ...
# Subtest: .tap/check-1.test.mjs
    # Subtest: test/lib/d.test.ts
        # Subtest: was running
`;

t.test("a report names each test that failed once, with what differs and where", async (t) => {
  const report = new TestReport();
  const shown = REPORT.split("\n").flatMap((line) => report.take(line) ?? []);
  report.takeError("(node:1) Warning: something else does not end");
  report.takeError("test/lib/e.test.tsx does not end");
  t.strictSame(shown, ["FAIL test/lib/a.test.ts (5.0 s)", "  ok test/lib/b.test.ts (0.0 s)"]);
  const [first, ...others] = report.end();
  t.match(first, { file: "test/lib/a.test.ts", title: "outer" });
  t.strictSame(first?.details, [
    ...["inner › same thing", "diff: |", '  -  "a": 2,', '  +  "a": 1,'],
    ...["  fileName: test/lib/a.test.ts", "  lineNumber: 3"],
  ]);
  t.strictSame(
    others.map(({ file, title }) => `${file}: ${title}`),
    ["test/docs/c.test.ts: does not end", "test/lib/e.test.tsx: does not end", "test/lib/d.test.ts: was running"],
  );
});

t.test("files run in the order in which they are given, and one that hangs ends", async (t) => {
  /** Returns the report of files that run together, each for a second at most. */
  const runTogether = (...names: string[]) => runLimited(1, names);
  /** @param limit in seconds */
  function runLimited(limit: number, names: readonly string[]): { report: string; stderr: string; ms: number } {
    const batch = join(temporaryFolder(t), "batch.mjs");
    const helper = JSON.stringify(new URL("../support/together.ts", import.meta.url).href);
    const files = JSON.stringify(names.map((name) => `test/scripts/fixtures/${name}.ts`));
    writeFileSync(batch, `import { together } from ${helper};\ntogether(...${files});\n`);
    const began = performance.now();
    const args = ["--import=./test/support/tsx.ts", batch];
    const env = { ...process.env, SEALIFT_FILE_LIMIT: String(limit), SEALIFT_TESTS: "all", TAP_CHILD_ID: "limit" };
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: "utf8", timeout: 60_000 });
    return { report: stdout, stderr, ms: performance.now() - began };
  }
  const waiting = runTogether("waits", "passes");
  t.match(waiting.report, /not ok \d - asks for ever[^]*ok \d - is fine[^]*not ok 1 - [^]*ok 2 - .*passes\.ts/);
  t.ok(waiting.ms < 30_000, `${waiting.ms} ms`);
  const spinning = runTogether("passes", "spins");
  t.match(spinning.stderr, /^test\/scripts\/fixtures\/spins\.ts does not end$/m);
  t.ok(spinning.ms < 30_000, `${spinning.ms} ms`);
  const apart = runLimited(30, ["passes", "apart"]);
  t.match(apart.report, /^ok 2 - .*apart\.ts/m, "one in a process of its own is waited for");
});
