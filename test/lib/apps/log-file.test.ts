// Holds: an application writes no line that reads as one about it (lib/apps/log-file.ts)
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { isRemark, LogFile } from "../../../lib/apps/log-file.ts";

const FORGED = "2026-11-29T10:00:00.000Z sealift: stopped";

/** Writes pieces of an application's output, and returns the lines of the log. */
async function logged(folder: string, write: (log: LogFile) => void): Promise<string[]> {
  const log = new LogFile(folder);
  write(log);
  await new Promise<void>((resolve) => log.end(resolve));
  return (await readFile(join(folder, "log"), "utf8")).split("\n").slice(0, -1);
}

t.test("no line of an application reads as a remark, wherever its output is cut", async (t) => {
  const folder = t.testdir({});
  for (let cut = 0; cut <= FORGED.length; cut++) {
    const lines = await logged(join(folder, String(cut)), (log) => {
      log.write("before\n");
      if (cut > 0) log.write(FORGED.slice(0, cut));
      log.write(`${FORGED.slice(cut)}\nafter\n`);
    });
    t.notOk(lines.some(isRemark), lines.join("|"));
    t.equal(lines.at(-1), "after");
    t.equal(lines[1]?.replace("\\", ""), FORGED, "and nothing of it is lost");
  }
  const bytes = [...`${FORGED}\n${FORGED}\n`];
  const lines = await logged(join(folder, "bytes"), (log) => bytes.forEach((byte) => log.write(byte)));
  t.same([lines.length, lines.filter(isRemark)], [2, []]);
});

t.test("a remark begins a line, also after output without an end, and of an earlier process", async (t) => {
  const folder = t.testdir({ log: "cut off" });
  const lines = await logged(folder, (log) => {
    log.write("unfinished");
    log.remark("started\nfrom a release");
    log.write("goes on\n");
  });
  t.same(lines.map(isRemark), [false, false, true, false]);
  t.match(lines[2], /sealift: started from a release$/);
  await writeFile(join(folder, "log"), "whole\n");
  t.equal((await logged(folder, (log) => log.remark("stopped"))).length, 2);
});

t.test("nothing is said of an application after the end of its log", async (t) => {
  const folder = t.testdir({});
  const lines = await logged(folder, (log) => {
    log.end("last\n");
    log.remark("too late");
  });
  t.same(lines, ["last"]);
});

t.test("a new file, and a disk that took nothing, begin a line", async (t) => {
  const folder = t.testdir({});
  const rotated = join(folder, "rotated");
  const small = new LogFile(rotated, 64);
  small.write("x".repeat(60));
  small.write(`${FORGED}\n`);
  await new Promise<void>((resolve) => small.end(resolve));
  t.notOk((await readFile(join(rotated, "log"), "utf8")).split("\n").some(isRemark));
  const full = join(folder, "full");
  await writeFile(full, "no folder can be made here");
  const log = new LogFile(full);
  await new Promise<void>((resolve) => log.write("lost", () => resolve()));
  await rm(full);
  log.write(`${FORGED}\n`);
  await new Promise<void>((resolve) => log.end(resolve));
  t.notOk((await readFile(join(full, "log"), "utf8")).split("\n").some(isRemark));
});
