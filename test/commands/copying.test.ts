import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Cli } from "clipanion";
import t from "tap";
import { HubBackup, HubMove, HubRestore } from "../../commands/hub/hub-backup.ts";
import { HubVerify } from "../../commands/hub/hub-verify.ts";
import { createProject, publication, startHub } from "../support/hub/harness.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A terminal's line is made empty. */
const GONE = "\\u001b\\[2K";

/** Copies and checks of a hub tell how far they are. */

t.test("backup, restore, verify and move tell their progress as a bar, as lines and as events", async (t) => {
  const folder = temporaryFolder(t);
  const hub = await startHub(t, { rateLimits: false });
  const project = await createProject(hub);
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) await project.publish(publication(version, { size: 10_000 }));
  // Each look at the clock is a minute later, so that no interval holds anything back.
  let minutes = 0;
  t.intercept(performance, "now", { value: () => 60_000 * minutes++ });
  const cli = Cli.from([HubBackup, HubMove, HubRestore, HubVerify]);
  const run = async (line: string[], { isTTY = false } = {}) => {
    const told = { out: "", err: "" };
    const stdout = new PassThrough().setEncoding("utf8").on("data", (text: string) => (told.out += text));
    const stderr = Object.assign(new PassThrough().setEncoding("utf8"), { isTTY, columns: 100 });
    stderr.on("data", (text: string) => (told.err += text));
    const code = await cli.run(line, { ...Cli.defaultContext, stdout, stderr });
    t.equal(code, 0, told.err + told.out);
    return told;
  };
  const runs = (name: string): [doing: string, line: string[]][] => {
    const to = (what: string): string => join(folder, `${name}-${what}`);
    return [
      ["Backing up", ["hub", "backup", "--data-dir", hub.dataDir, "--to", to("backup"), "--unsigned"]],
      ["Checking", ["hub", "verify", "--data-dir", hub.dataDir]],
      ["Checking", ["hub", "verify", "--backup", to("backup"), "--unsigned"]],
      ["Restoring", ["hub", "restore", "--backup", to("backup"), "--unsigned", "--data-dir", to("restored")]],
      ["Moving", ["hub", "move", "--data-dir", hub.dataDir, "--to-data-dir", to("moved")]],
    ];
  };
  for (const [doing, line] of runs("bar")) {
    const { err } = await run(line, { isTTY: true });
    t.match(
      err,
      new RegExp(`${doing} +█+ 100% 29\\.3 KiB of 29\\.3 KiB .*${GONE}(?:Start the hub .*\\n)?$`, "s"),
      line.join(" "),
    );
  }
  for (const [doing, line] of runs("lines")) {
    const { err } = await run(line);
    t.match(err, new RegExp(`^${doing}: 3 of 3 artifacts, 30000 of 30000 bytes$`, "m"), line.join(" "));
    t.notMatch(err, /[█\u001b]/);
  }
  for (const [, line] of runs("events")) {
    const { out, err } = await run([...line, "--json"]);
    const events = out
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text) as Record<string, unknown>);
    const progress = events.filter(({ event }) => event === "progress");
    const whole = { v: 1, artifacts: 3, total_artifacts: 3, bytes: 30_000, total_bytes: 30_000 };
    t.match(progress.at(-1), whole, line.join(" "));
    t.equal(events.at(-1)!["event"], "result");
    t.equal(err, "");
  }
});
