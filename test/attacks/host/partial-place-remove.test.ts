// Holds: whether bytes of an interrupted download are used (lib/agent/sources/kept-download.ts)
/** A removal neither follows nor fails on what stands in the place of the folder of partial downloads. */
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { deltaFleet } from "../../support/host/delta-fleet.ts";
import { commandLine } from "../../support/programs/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

for (const [what, plant] of Object.entries({
  "a link": (place: string, outside: string) => symlinkSync(outside, place),
  "a file": (place: string) => writeFileSync(place, "x"),
  "an empty folder": (place: string) => mkdirSync(place),
}))
  t.test(`a target is removed where partial/ is ${what}`, async (t) => {
    const fleet = await deltaFleet(t);
    await fleet.publish("1.0.0");
    const root = temporaryFolder(t);
    await fleet.deployTo(root, "1.0.0");
    const layout = layoutOf(root);
    const target = `project-${fleet.project.id}` as const;
    const place = join(layout.sealift, "partial");
    rmSync(place, { recursive: true, force: true });
    const outside = temporaryFolder(t);
    const mine = join(outside, target);
    writeFileSync(mine, "mine");
    plant(place, outside);
    const isLink = lstatSync(place).isSymbolicLink();
    const state = join(layout.sealift, "state", `deployed-${target}.json`);
    t.ok(existsSync(state));
    const env = { PATH: process.env["PATH"]! };
    const remove = ["remove", `project:${fleet.project.id}`, "--project-root", root];
    const shown = await commandLine([...remove, "--dry-run"], { env });
    t.notMatch(shown.stdout + shown.stderr, /partial/, "nothing outside is promised to be removed");
    const removed = await commandLine(remove, { env });
    t.equal(removed.code, 0, removed.stdout + removed.stderr);
    t.notOk(existsSync(layout.releases(target)));
    t.notOk(existsSync(state), "and its state is removed, too");
    t.equal(lstatSync(place).isSymbolicLink(), isLink);
    t.equal(readFileSync(mine, "utf8"), "mine");
  });
