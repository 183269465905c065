// Only in test:all: somebody types at a terminal, which .ci/run does as an ordinary user.
import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { fingerprintOf, joinLine } from "../../lib/contract/joining/token.ts";
import { startHub } from "../support/hub/harness.ts";
import { invited } from "../support/hub/joining.ts";
import { needs } from "../support/programs/optional.ts";
import { Terminal } from "../support/programs/terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SEALIFT = fileURLToPath(new URL("../../bin/sealift.ts", import.meta.url));

t.test("on a terminal, join shows what it will do, and does it after yes alone", { skip: needs("tmux") }, async (t) => {
  const hub = await startHub(t);
  const { invite, list, signers } = await invited(hub);
  const folder = temporaryFolder(t);
  const file = join(folder, "join.token");
  const out = join(folder, "watch");
  await writeFile(file, joinLine((await invite()).token, signers));
  const words = ["join", hub.url, "--token-file", file, "--host-id", "pier-7", "--out", out];
  const command = [process.execPath, SEALIFT, ...words, "--project-root", join(folder, "root")];
  const open = () => Terminal.run(command, { columns: 160, cwd: folder });
  const isThere = (name: string) =>
    access(join(out, name)).then(
      () => true,
      () => false,
    );

  for (const answer of [["n", "Enter"], ["Enter"], ["C-d"], ["C-c"]]) {
    await using terminal = await open();
    const shown = await terminal.shows(/Go on\? \[y\/N\]/);
    t.match(shown, `This host joins ${hub.url} as pier-7.`);
    t.match(shown, `It writes host.env (0600), signer.pub and watch.yaml in ${out}.`);
    t.match(
      shown.replaceAll("\n", ""),
      `into ${folder}/root what signers with the fingerprint ${fingerprintOf(signers)}`,
    );
    await terminal.press(...answer);
    await terminal.shows(/exit [1-9]/);
    t.strictSame([await list(), await isThere("host.env")], [[], false], `nothing was done after ${answer[0]}`);
  }

  await using terminal = await open();
  await terminal.shows(/Go on\?/);
  t.strictSame([await list(), await isThere("host.env")], [[], false], "nor before the answer");
  await terminal.press("y", "Enter");
  t.match(await terminal.shows(/exit 0/), "pier-7 has joined Demo");
  t.match(await list(), [{ host_id: "pier-7", state: "joined" }]);
  t.match(await readFile(join(out, "watch.yaml"), "utf8"), "host_id: pier-7");
});
