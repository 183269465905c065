import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, linkSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { ProgramFile } from "../../../../lib/agent/upgrade/program-file.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const OLD = "old ".repeat(100_000);
const NEW = "new ".repeat(100_000);

/** A program in a folder of its own, and one that may take its place. */
function place(t: Test) {
  const folder = temporaryFolder(t);
  const [path, next] = [join(folder, "sealift"), join(temporaryFolder(t), "next")];
  writeFileSync(path, OLD);
  chmodSync(path, 0o755);
  writeFileSync(next, NEW);
  return { folder, path, next, names: () => readdirSync(folder).filter((name) => !name.endsWith(".upgrade")) };
}

t.test("a program is replaced, and the former one comes back, as often as one likes", async (t) => {
  const { path, next, names } = place(t);
  using file = await ProgramFile.open(path);
  await t.rejects(file.switchBack(), { code: "program_unusable" }, "nothing to go back to yet");
  t.notOk(await file.isSameAs(next));
  await file.switchTo(await file.copyBeside(next));
  t.ok(await file.isSameAs(next));
  for (const [present, former] of [
    [NEW, OLD],
    [OLD, NEW],
    [NEW, OLD],
  ] as const) {
    t.ok(readFileSync(path, "utf8") === present && readFileSync(`${path}.former`, "utf8") === former);
    t.equal(statSync(path).mode & 0o777, 0o755);
    await file.switchBack();
  }
  t.strictSame(names(), ["sealift", "sealift.former"]);
});

t.test(
  "after a switch that was killed in its middle there is no way back, and the next one leaves nothing",
  async (t) => {
    const { path, next, names } = place(t);
    linkSync(path, `${path}.former`);
    using file = await ProgramFile.open(path);
    await t.rejects(file.switchBack(), { code: "program_unusable", message: /is the present program/ });
    await file.switchTo(await file.copyBeside(next));
    t.strictSame(names(), ["sealift", "sealift.former"]);
    t.ok(readFileSync(path, "utf8") === NEW && readFileSync(`${path}.former`, "utf8") === OLD);
  },
);

t.test("a program that runs as its owner leaves no former one that does", async (t) => {
  const { path, next } = place(t);
  chmodSync(path, 0o6755);
  using file = await ProgramFile.open(path);
  await file.switchTo(await file.copyBeside(next));
  for (const each of [path, file.former]) t.equal(statSync(each).mode & 0o7777, 0o755, each);
});

t.test("two upgrades at once: the second one is told so", async (t) => {
  const { path } = place(t);
  {
    using _first = await ProgramFile.open(path);
    await t.rejects(ProgramFile.open(path), { code: "root_busy" });
  }
  using _next = await ProgramFile.open(path);
});

t.test("a switch that is killed at any moment leaves a whole program, and the next one clears up", async (t) => {
  const program = fileURLToPath(new URL("../../../support/programs/switching-program.ts", import.meta.url));
  for (let round = 0; round < 8; round++) {
    const { path, next, names } = place(t);
    const child = spawn(process.execPath, [program, path, next], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    await sleep(Math.random() * 20);
    child.kill("SIGKILL");
    await once(child, "close");
    t.ok([OLD, NEW].includes(readFileSync(path, "utf8")), "the old program or the new one");
    t.ok(existsSync(`${path}.former`));
    using file = await ProgramFile.open(path);
    t.strictSame(names(), ["sealift", "sealift.former"], "nothing half is left");
    await file.switchTo(await file.copyBeside(next));
    t.ok(readFileSync(path, "utf8") === NEW);
  }
});
