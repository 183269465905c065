// Only in test:all: somebody types at a terminal, which .ci/run does as an ordinary user.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { commandLine } from "../support/programs/command-line.ts";
import { needs } from "../support/programs/optional.ts";
import { Terminal } from "../support/programs/terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SEALIFT = fileURLToPath(new URL("../../bin/sealift.ts", import.meta.url));

t.test(
  "a threshold of 1 is asked about at a terminal, and taken after yes alone",
  { skip: needs("tmux") },
  async (t) => {
    const folder = temporaryFolder(t);
    for (const name of ["alice", "signer"])
      t.match(await commandLine(["signer", "create", "--out", name], { cwd: folder }), { code: 0 });
    const words = ["--root-key", "alice/signer.pub", "--add-signer", "signer/signer.pub", "--threshold", "1"];
    const command = [process.execPath, SEALIFT, "trust", "start", "1.root.json", ...words];
    const open = () => Terminal.run(command, { columns: 160, cwd: folder });
    for (const answer of [["n", "Enter"], ["Enter"], ["C-d"]]) {
      await using terminal = await open();
      t.match(
        (await terminal.shows(/Go on\? \[y\/N\]/)).replaceAll("\n", ""),
        "Whoever takes this key owns these hosts, and only a visit takes them back. Go on?",
      );
      await terminal.press(...answer);
      await terminal.shows(/exit 2/);
      t.notOk(existsSync(join(folder, "1.root.json")), `nothing is written after ${answer[0]}`);
    }
    await using terminal = await open();
    await terminal.shows(/Go on\?/);
    await terminal.press("y", "Enter");
    await terminal.shows(/exit 0/);
    t.ok(existsSync(join(folder, "1.root.json")));
  },
);
