// Only in test:all: each script is started three times, 9 s of a processor.
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import PQueue from "p-queue";
import t from "tap";
import packageJson from "../../package.json" with { type: "json" };

const SCRIPTS = globSync("scripts/**/*.ts").filter((file) =>
  /= scriptArguments\(|^ *scriptArguments\(/m.test(readFileSync(file, "utf8")),
);

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const run = (file: string, ...words: string[]): Promise<Ended> =>
  new Promise((resolve) =>
    execFile(process.execPath, [file, ...words], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    ),
  );

t.test("every script that npm runs reads its arguments in the same way", (t) => {
  const started = Object.values(packageJson.scripts).flatMap((line) => line.match(/scripts\/\S+\.ts/g) ?? []);
  t.same(new Set(started).difference(new Set(SCRIPTS)), new Set());
  t.end();
});

t.test("--help prints what a script is for, and starts nothing", async (t) => {
  const queue = new PQueue({ concurrency: 2 });
  const ended = await queue.addAll(SCRIPTS.map((file) => async () => ({ file, ...(await run(file, "--help")) })));
  for (const { file, code, stdout, stderr } of ended) {
    t.match({ code, stderr }, { code: 0, stderr: "" }, file);
    const [first] = stdout.split("\n");
    t.ok(readFileSync(file, "utf8").startsWith(`/**\n * ${first}\n`), file);
  }
});

t.test("an option that there is not ends a script with 2, in one line", async (t) => {
  for (const file of ["scripts/crash/main.ts", "scripts/release.ts"])
    t.match(await run(file, "--no-such"), {
      ...{ code: 2, stdout: "" },
      stderr: /^Unknown option '--no-such'\. --help shows what there is\.\n$/,
    });
  t.match(await run("scripts/docs.ts", "word"), { code: 2, stdout: "", stderr: /^Unexpected argument 'word'.*\n$/ });
});
