// Only in test:all: somebody types at a terminal, which .ci/run does as an ordinary user.
import { appendFile, mkdir, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { zipFolder } from "../../scripts/quickstart/zip-folder.ts";
import { leftovers, World } from "../support/host/world.ts";
import { needs } from "../support/programs/optional.ts";
import { Terminal } from "../support/programs/terminal.ts";
import { until } from "../support/until.ts";

const SECRET = "a signing secret of some length";

/** A hub with one plugin, a host with a `systemctl` that says what `health()` tells it, and a watch.yaml for it. */
async function watchedWorld({ retries = 0 } = {}) {
  const world = await World.make();
  const developer = { ...world.admin, SEALIFT_SIGNING_SECRET: SECRET };
  const slug = "tides";
  await world.programs.run("sealift", ["project", "create", "Tides", "--kind", "plugin", "--slug", slug], world.admin);
  const publish = async (version: string): Promise<void> => {
    const folder = world.path("plugin");
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "plugin.yaml"),
      `name: tides\nversion: ${version}\nentry: index.js\nmode: sandboxed\n`,
    );
    await writeFile(join(folder, "index.js"), `export default ${JSON.stringify(version)};\n`);
    await zipFolder(folder, `tides-${version}`, world.path("tides.zip"));
    const release = ["--version", version, "--archive", world.path("tides.zip")];
    await world.programs.run("sealift", ["marketplace", "publish", slug, ...release], developer);
  };
  await publish("1.0.0");
  const plan = world.path("install.yaml");
  await world.programs.run("sealift", ["plan", "init", slug, "--supervised", "--out", plan], {});
  await writeFile(plan, (await readFile(plan, "utf8")).replace("retries: 3", `retries: ${retries}`));

  const programs = world.path("programs");
  await mkdir(programs);
  const health = (state: string): Promise<void> =>
    writeFile(
      join(programs, "systemctl"),
      `#!/bin/sh\ncase "$*" in *show*) echo LoadState=loaded; echo ActiveState=${state}; echo NRestarts=0;; esac\n`,
      { mode: 0o755 },
    );
  await health("active");
  await writeFile(
    join(programs, "journalctl"),
    `#!/bin/sh\necho $$ > ${world.path("journal.pid")}\necho "journal of $*"\nexec sleep 1000\n`,
    { mode: 0o755 },
  );
  await writeFile(world.path("api.key"), world.admin["SEALIFT_API_KEY"]!, { mode: 0o600 });
  await writeFile(world.path("signing.secret"), SECRET, { mode: 0o600 });
  await writeFile(
    world.path("watch.yaml"),
    `hub_url: ${world.hubUrl}
api_key_file: api.key
signing_secret_file: signing.secret
supervisor: systemd
stays_up: 100ms
interval: 1s
host_id: host-1
targets:
  - target: plugin:tides
    project_root: host
    install_plan: install.yaml
`,
  );
  const env = { PATH: `${programs}:${process.env.PATH}` };
  const open = (size: { columns: number; rows: number }, extra: Record<string, string> = {}): Promise<Terminal> =>
    Terminal.open("watch", ["--config", world.path("watch.yaml")], {
      ...size,
      env: { ...env, ...extra },
      cwd: world.folder,
    });
  return { world, publish, health, open, root: world.path("host") };
}

const running = async (root: string): Promise<string> =>
  readFile(join(root, "plugins", "tides", "index.js"), "utf8").then((text) => /"(.*)"/.exec(text)![1]!);

t.test("the dashboard, in a terminal of 80×24", { timeout: 500_000, skip: needs("tmux") }, async (t) => {
  const { world, publish, health, open, root } = await watchedWorld();
  await using _world = world;
  await using terminal = await open({ columns: 80, rows: 24 });

  await t.test("starts with a deployment of what is latest", async (t) => {
    const screen = await terminal.shows(/› plugin:tides +1\.0\.0 +1\.0\.0 +current/);
    t.match(screen, /✓ switch .*100 %/);
    t.match(screen, /✓ check \(healthcheck\)/);
    t.match(screen, /q quit/, "the keys are there");
    t.notOk(await terminal.takesMouse(), "text is selected as in any terminal");
    t.ok(screen.split("\n").every((line) => line.length <= 80));
    t.equal(await running(root), "1.0.0");
  });

  await t.test("follows a new version", async (t) => {
    await publish("1.1.0");
    await terminal.shows(/› plugin:tides +1\.1\.0 +1\.1\.0 +current/);
    t.equal(await running(root), "1.1.0");
  });

  await t.test("redeploys when it is asked to, after asking back", async (t) => {
    const release = await readlink(join(root, ".sealift/current/plugin-tides"));
    await terminal.press("r");
    await terminal.shows(/Redeploy 1\.1\.0 of plugin:tides\?/);
    await terminal.press("n");
    await terminal.shows(/q quit/);
    await terminal.press("r");
    await terminal.shows(/Redeploy 1\.1\.0 of plugin:tides\?/);
    await terminal.press("y");
    await until(async () => (await readdir(join(root, ".sealift/reports/plugin-tides"))).length === 3);
    t.not(await readlink(join(root, ".sealift/current/plugin-tides")), release, "the same version, in a new release");
    await terminal.shows(/› plugin:tides +1\.1\.0 +1\.1\.0 +current/);
  });

  await t.test("shows a failure, its rollback, and the quarantine", async (t) => {
    await health("failed");
    await publish("1.2.0");
    const failed = await terminal.shows(/1\.1\.0 → 1\.2\.0 rolled back/);
    t.match(failed, /✗ health/);
    t.match(failed, /↶ switch/);
    await terminal.shows(/› plugin:tides +1\.1\.0 +1\.2\.0 +held: quarantined/);
    t.equal(await running(root), "1.1.0");
    await terminal.press("3");
    const history = await terminal.shows(/OUTCOME/);
    t.match(history, /plugin:tides +1\.2\.0 +rolled back/);
    t.match(history, /plugin:tides +1\.0\.0 +deployed/);
    await terminal.press("1");
  });

  await t.test("gives a version in quarantine another chance", async (t) => {
    await health("active");
    await terminal.press("t");
    await terminal.shows(/› plugin:tides +1\.2\.0 +1\.2\.0 +current/);
    t.equal(await running(root), "1.2.0");
  });

  await t.test("goes back when it is asked to, after asking back", async (t) => {
    await terminal.press("b");
    await terminal.shows(/y yes, other keys no +Go back from 1\.2\.0 to 1\.1\.0 with plugin:tides\?/);
    await terminal.press("y");
    await terminal.shows(/› plugin:tides +1\.1\.0 +1\.2\.0 +held: quarantined/);
    t.equal(await running(root), "1.1.0");
    await terminal.press("t");
    await terminal.shows(/› plugin:tides +1\.2\.0 +1\.2\.0 +current/);
  });

  await t.test("pauses and resumes", async (t) => {
    await terminal.press("p");
    await terminal.shows(/› plugin:tides .* paused/);
    await publish("1.3.0");
    await terminal.shows(/› plugin:tides +1\.2\.0 +1\.3\.0 +paused/);
    t.equal(await running(root), "1.2.0");
    await terminal.press("p");
    await terminal.shows(/› plugin:tides +1\.3\.0 +1\.3\.0 +current/);
  });

  await t.test("shows the fleet, searched and filtered", async (t) => {
    await terminal.press("2");
    t.match(await terminal.shows(/host-1 +1\.3\.0 +success/), /1 host/);
    // In one read, as a paste or a slow connection delivers it.
    await terminal.press("-l", "/nobody");
    await terminal.shows(/\/ nobody.*none/);
    await terminal.press("Escape");
    await terminal.shows(/host-1/);
    await terminal.press("f");
    await terminal.shows(/f failing .* none/);
  });

  await t.test("shows the log of the target, whose program ends with it", async (t) => {
    await terminal.press("l");
    await terminal.shows(
      /Log of plugin:tides[\s\S]*journal of --no-pager --lines=200 --follow --unit=sealift-plugin-tides/,
    );
    const journal = Number(await readFile(world.path("journal.pid"), "utf8"));
    t.ok(journal > 0);
    await terminal.press("l");
    await terminal.shows(/Targets/);
    await ended(journal);
  });

  await t.test("has a help", async (t) => {
    await terminal.press("?");
    t.match(await terminal.shows(/Any key closes this/), /retry a version in quarantine, fetched anew/);
    await terminal.press("x");
    await terminal.shows(/Targets/);
  });

  await t.test("follows the terminal's size, and says when there is too little of it", async (t) => {
    await terminal.resize(200, 50);
    const large = await terminal.shows(/1 Deployment[^\n]*2 Fleet[\s\S]*3 History[^\n]*4 Events/);
    t.equal(large.match(/Sealift watch/g)?.length, 1, "nothing of the old picture is left");
    await terminal.resize(50, 10);
    await terminal.shows(/This terminal is 50×10; the dashboard needs 70×20/);
    await terminal.resize(80, 24);
    const small = await terminal.shows(/ 1 Deployment +\[2 Fleet\]/);
    t.equal(small.match(/── Targets/g)?.length, 1);
  });

  await t.test("ends with q, and gives the terminal back", async (t) => {
    await terminal.press("q");
    const screen = await terminal.shows(/exit 0/);
    t.match(screen, /8 deployments, 1 failed/);
    t.notMatch(screen, /Targets/);
    t.strictSame(await leftovers(root), []);
  });
});

t.test(
  "SIGHUP reads watch.yaml again, and a terminal that is closed during a deployment leaves a whole release",
  { timeout: 300_000, skip: needs("tmux") },
  async (t) => {
    const { world, publish, health, open, root } = await watchedWorld({ retries: 20 });
    await using _world = world;
    await using terminal = await open({ columns: 80, rows: 24 });
    await terminal.shows(/› plugin:tides +1\.0\.0 +1\.0\.0 +current/);
    const shell = await terminal.processId();
    const watch = Number(
      await readFile(`/proc/${shell}/task/${shell}/children`, "utf8").then((text) => text.trim().split(" ")[0]),
    );
    await world.programs.run("sealift", ["plan", "init", "waves", "--out", world.path("waves.yaml")], {});
    await appendFile(
      world.path("watch.yaml"),
      "  - {target: plugin:waves, project_root: other, install_plan: waves.yaml}\n",
    );
    process.kill(watch, "SIGHUP");
    await terminal.shows(/ plugin:waves /);
    // The unit takes its time: the terminal goes away between the switch and the end of the health check.
    await health("activating");
    await publish("1.1.0");
    await terminal.shows(/▸ health/);
    await health("active");
    await terminal.close();
    await ended(watch);
    t.match(await running(root), /^1\.[01]\.0$/);
    t.strictSame(await leftovers(root), [], "no journal, no staging, no half of a switch");
  },
);

t.test(
  "NO_COLOR leaves colours out, and a screen reader gets sentences",
  { timeout: 300_000, skip: needs("tmux") },
  async (t) => {
    const { world, open } = await watchedWorld();
    await using _world = world;
    const colours = /\u001b\[[\d;]*(?:3[0-7]|9[0-7]|38;)/;
    {
      await using plain = await open({ columns: 100, rows: 30 }, { NO_COLOR: "1" });
      await plain.shows(/current/);
      await plain.press("4");
      await plain.shows(/watching 1 target/);
      t.notMatch(await plain.screen(true), colours);
      await plain.press("q");
      await plain.shows(/exit 0/);
    }
    {
      await using coloured = await open({ columns: 100, rows: 30 });
      await coloured.shows(/current/);
      await coloured.press("4");
      await coloured.shows(/watching 1 target/);
      t.match(await coloured.screen(true), colours);
      await coloured.press("C-c");
      await coloured.shows(/exit 0/);
    }
    {
      await using spoken = await open({ columns: 100, rows: 30 }, { SEALIFT_SCREEN_READER: "1" });
      const screen = await spoken.shows(/Selected: plugin:tides: running 1\.0\.0, latest 1\.0\.0, current\./);
      t.notMatch(screen, /[█░─│]/);
      await spoken.press("q");
      await spoken.shows(/exit 0/);
    }
  },
);

/** Waits until a process that is not a child of this one is gone. */
const ended = (pid: number): Promise<void> =>
  until(async () => / Z |^$/.test(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")));
