// Only in test:all: somebody types at a terminal, which .ci/run does as an ordinary user.
import t from "tap";
import { World } from "../support/host/world.ts";
import { needs } from "../support/programs/optional.ts";
import { Terminal } from "../support/programs/terminal.ts";

t.test(
  "on a terminal the result of a publication stays below the bar that went away",
  { timeout: 120_000, skip: needs("tmux") },
  async (t) => {
    await using world = await World.make();
    await world.setVersion("1.0.0");
    await using terminal = await Terminal.open("deploy-publish", world.publishArgs("1.0.0"), {
      columns: 100,
      env: world.admin,
    });
    const screen = await terminal.shows(/exit 0/);
    const lines = screen.split("\n").filter((line) => line.trim() !== "");
    t.match(lines.at(-2), /^published 1\.0\.0 as art_/);
    t.match(lines.at(-1), /^exit 0/);
    t.notMatch(screen, /[█░]/);

    const dry = [...world.publishArgs("1.1.0"), "--dry-run"];
    await using second = await Terminal.open("deploy-publish", dry, { columns: 100, env: world.admin });
    const listed = (await second.shows(/exit 0/)).split("\n").filter((line) => line.trim() !== "");
    const files = listed.filter((line) => /^ +[\d.,]+ \w+ {2}(?:plugins|deployment)\//.test(line));
    t.ok(files.length >= 3, "each file is a line of its own, the first one too");
    t.match(listed.at(-1), /^exit 0/);
  },
);
