import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";
import { docPages, FORMER, pageOf } from "../../commands/shell/docs.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));
const docs = (...words: string[]) =>
  run(process.execPath, [PROGRAM, "docs", ...words], { env: { PATH: process.env.PATH } });

t.test("every command has a page", (t) => {
  const pages = docPages();
  for (const command of COMMANDS) t.ok(pages.has(pageOf(command, pages)), command.paths![0]!.join(" "));
  t.end();
});

t.test("in a pipe, a topic and each command's page are printed without the marks of tests", async (t) => {
  const page = readFileSync(new URL("../../docs/watch.md", import.meta.url), "utf8");
  t.match(page, /<!--/);
  const { stdout } = await docs("watch");
  t.equal(stdout, page.replaceAll(/<!--[\s\S]*?-->\n*/g, ""));
  for (const words of [["watch", "init"], ["fleet"]]) t.equal((await docs(...words)).stdout, stdout);
  t.match((await docs("hub-serve")).stdout, /^# Running a hub/);
});

t.test("without an argument the topics are listed with their titles", async (t) => {
  const { stdout } = await docs("--json");
  const events = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  t.ok(events.some(({ topic, title }) => topic === "contract/host" && typeof title === "string" && title !== ""));
  t.match(events.at(-1), { event: "result", status: "success", count: docPages().size });
});

t.test("a former topic opens the page that has its text now", async (t) => {
  const pages = docPages();
  for (const [former, page] of Object.entries(FORMER)) {
    t.notOk(pages.has(former), former);
    t.ok(pages.has(page), page);
  }
  t.match((await docs("bad-day")).stdout, /^# Troubleshooting/);
});

t.test("an unknown topic is refused with the one that was probably meant", async (t) => {
  await t.rejects(docs("rolouts"), { code: 2, stderr: /rollouts/ });
});
