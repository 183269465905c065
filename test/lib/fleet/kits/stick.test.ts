// Holds: which stick takes a kit, and what is said of one that does not (lib/fleet/kits/stick.ts)
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { prepareStick, requireRoom, writeNew } from "../../../../lib/fleet/kits/stick.ts";
import { mountMemory } from "../../../support/host/loop-file-system.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("a folder takes one kit, whatever the case of its names, and reports may lie there", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "report.json"), "");
  await prepareStick(join(folder, "new"));
  await prepareStick(folder);
  writeFileSync(join(folder, "ARTIFACT.BIN"), "");
  await t.rejects(prepareStick(folder), {
    code: "usage",
    message: /has ARTIFACT\.BIN already/,
    hint: /no kit without/,
  });
  writeFileSync(join(folder, "Kit.json"), "");
  await t.rejects(prepareStick(folder), { code: "usage", hint: /A stick takes several kits/ });
  await t.rejects(prepareStick(join(folder, "report.json", "kit")), { code: "usage", message: /cannot be made/ });
});

t.test("a stick needs the room of a kit before it is fetched, where it says how large it is", async (t) => {
  const folder = temporaryFolder(t);
  await requireRoom(folder, 1);
  await t.rejects(requireRoom(folder, 1e18), { code: "disk_full", message: /the kit needs / });
  await t.rejects(requireRoom(join(folder, "none"), 1), { code: "kit_unwritable" });
  if (process.platform === "linux") await requireRoom("/proc", 1e18);
});

t.test("a new file is written whole, in the place of none", async (t) => {
  const folder = temporaryFolder(t);
  const text = Buffer.from("a kit");
  const sha256 = createHash("sha256").update(text).digest("hex");
  t.same(await writeNew(folder, "kit.json", [text.subarray(0, 2), text.subarray(2)]), { size: 5, sha256 });
  await t.rejects(writeNew(folder, "kit.json", [text]), { code: "kit_unwritable" });
  t.same(readdirSync(folder), ["kit.json"]);
});

const memory = mountMemory(t, 64 * 1024);
t.test("a full stick keeps no part of a file", { skip: "reason" in memory && memory.reason }, async (t) => {
  const { folder } = memory as { folder: string };
  const refused = writeNew(folder, "artifact.bin", [Buffer.alloc(1024 * 1024)]);
  await t.rejects(refused, { code: "disk_full", message: /The stick is full/ });
  t.same(readdirSync(folder), []);
});

t.test("a file system whose files end before the kit's is named as such", async (t) => {
  const folder = temporaryFolder(t);
  const { href } = new URL("../../../../lib/fleet/kits/stick.ts", import.meta.url);
  const code = `
    import { writeNew } from ${JSON.stringify(href)};
    await writeNew(${JSON.stringify(folder)}, "artifact.bin", [Buffer.alloc(1024 * 1024)]).catch(({ code, hint }) => {
      console.log(JSON.stringify({ code, hint }));
    });`;
  // A program whose files end at 32 KiB gets the error of such a file system.
  const small = 'trap "" XFSZ; ulimit -f 64; exec "$0" "$@"';
  const program = [process.execPath, ...process.execArgv, "--input-type=module", "-e", code];
  const { stdout } = await promisify(execFile)("sh", ["-c", small, ...program]);
  t.match(JSON.parse(stdout.trim().split("\n").at(-1)!), { code: "kit_too_large", hint: /exFAT/ });
  t.same(readdirSync(folder), []);
});
