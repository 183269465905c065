import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import type { SealiftError } from "../../../lib/contract/errors.ts";
import { complete, deltaBetween, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const MAX_ROUNDS = 50;

/** Flips the last byte of a file all the time; says when it has begun. */
const FLIPPER = `
  const { openSync, writeSync, fstatSync } = require("node:fs");
  const file = openSync(process.argv[1], "r+");
  const at = fstatSync(file).size - 1;
  const flip = (value) => writeSync(file, Buffer.from([value]), 0, 1, at);
  const right = Number(process.argv[2]);
  flip(right ^ 255);
  process.stdout.write("begun");
  for (;;) { flip(right); flip(right ^ 255); }
`;

t.test("a base file that changes while it is read makes the right tree or none", async (t) => {
  const kept = randomBytes(2 * 1024 * 1024);
  const edited = Buffer.concat([randomBytes(1024 * 1024), Buffer.from([7])]);
  const after = Buffer.concat([Buffer.from("new"), edited]);
  const folder = temporaryFolder(t);
  const { from, to, tree, base } = await twoVersions(
    folder,
    { "plugins/demo/kept": kept, "plugins/demo/edited": edited },
    { "plugins/demo/kept": kept, "plugins/demo/edited": after },
  );
  const delta = await deltaBetween(folder, from, to);
  for (const [name, content] of Object.entries({ kept, edited })) {
    const last = content.length - 1;
    const flipper = spawn(process.execPath, ["-e", FLIPPER, join(tree, "plugins/demo", name), String(content[last])]);
    await once(flipper.stdout, "data");
    let refused = 0;
    for (let round = 0; round < 3 || (refused === 0 && round < MAX_ROUNDS); round++) {
      try {
        const completed = await complete(temporaryFolder(t), delta, base, "1.1.0");
        t.ok(readFileSync(join(completed, "plugins/demo/kept")).equals(kept));
        t.ok(readFileSync(join(completed, "plugins/demo/edited")).equals(after));
      } catch (error) {
        t.match((error as SealiftError).code, /^delta_(base_changed|invalid)$/);
        refused++;
      }
    }
    t.ok(refused > 0, `${refused} were refused`);
    flipper.kill("SIGKILL");
    await once(flipper, "close");
    const file = await open(join(tree, "plugins/demo", name), "r+");
    await file.write(content, last, 1, last);
    await file.close();
  }
});
