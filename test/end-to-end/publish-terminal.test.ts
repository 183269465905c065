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
  },
);
