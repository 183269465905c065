// Holds: what releases wrote is read: project roots, watch files and a person's contexts (docs/contract/host.md)
import { access, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import t from "tap";
import { type Past, PAST_RELEASES, unpackPast } from "../support/past/fixture.ts";
import { builtProgram } from "../support/programs/command-line.ts";
import { needs } from "../support/programs/optional.ts";

const skip = needs("tar");

/** Runs `sealift` to its end, however that is. @returns its exit code and its events */
async function ended(past: Past, words: readonly string[], secrets: Record<string, string> = {}) {
  const env = { PATH: process.env["PATH"], ...past.clock, ...secrets };
  const { code, stdout } = await builtProgram([...words, "--json"], { cwd: past.path(), env });
  const events = stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { code, events, result: events.at(-1)! };
}

/** Returns the version that `current` of a target leads to. */
async function running(past: Past, root: string, target: string): Promise<string> {
  const file = past.path("roots", root, ".sealift/current", target, "release.json");
  return (JSON.parse(await readFile(file, "utf8")) as { version: string }).version;
}

/** Arguments of a deployment into a root of the fixture. */
const into = ({ harbour, path }: Past, root: string): string[] => [
  ...["--project-id", harbour.id, "--signer-public-key", path("keys/signer.pub"), "--host-id", root],
  ...["--project-root", path("roots", root), "--supervisor", "systemd", "--stays-up", "0s"],
];

for (const release of PAST_RELEASES)
  t.test(`a project root of ${release}`, { skip }, async (t) => {
    const past = await unpackPast(t, release);
    const { harbour, path, admin } = past;
    const target = `project:${harbour.id}`;
    const key = `project-${harbour.id}`;
    const place = ["--project-root", path("roots/pier-1")];
    const host = { ...harbour.host, ...past.systemctl("pier-1") };
    await past.serve();

    await t.test("status, releases, history and doctor read it", async (t) => {
      const status = await ended(past, ["status", ...place]);
      t.match(status.events[0], {
        releases: [{ version: "1.2.0" }, { version: "1.1.0", running: true }, { version: "1.0.0" }],
        quarantine: [
          { version: "2.0.0", code: "unhealthy" },
          { version: "1.2.0", code: "operator" },
        ],
      });
      const listed = async (command: string) =>
        (await ended(past, [command, target, ...place])).events.slice(0, -1).map(({ version }) => version);
      t.same(await listed("releases"), ["1.2.0", "1.1.0", "1.0.0"]);
      t.same(await listed("history"), ["1.1.0", "2.0.0", "1.2.0", "1.1.0", "1.0.0"]);
      const doctor = await ended(past, ["doctor", "--verify", ...place], host);
      t.equal(doctor.code, 0);
      t.match(
        doctor.events.find(({ check }) => check === `target ${key}`),
        { status: "ok", message: /1\.1\.0 runs since .*, every byte as it was installed/ },
      );
    });

    await t.test("a quarantine holds, and a watch delivers the report that waited", async (t) => {
      const outbox = path("roots/pier-1/.sealift/outbox", key);
      t.equal((await readdir(outbox)).length, 1);
      for (const version of ["2.2.0", "2.1.0"])
        await past.programs.run("sealift", ["version", "yank", target, version, "--reason", "a try"], admin);
      const words = ["watch", target, "--once", ...into(past, "pier-1").slice(2)];
      const { code, events } = await ended(past, words, host);
      t.equal(code, 1);
      t.match(
        events.find(({ event }) => event === "target.held"),
        { version: "2.0.0", reason: "quarantined" },
      );
      t.equal(await running(past, "pier-1", key), "1.1.0");
      t.same(await readdir(outbox).catch(() => []), []);
      const fleet = await ended(past, ["fleet", target], admin);
      t.match(
        fleet.events.find(({ host_id: id }) => id === "pier-1"),
        { version: "1.1.0", status: "success" },
      );
      for (const version of ["2.2.0", "2.1.0"])
        await past.programs.run("sealift", ["version", "unyank", target, version], admin);
    });

    await t.test("a rollback goes back to a release of that time, and forward again", async (t) => {
      t.match(await ended(past, ["deploy-project", ...into(past, "pier-1")], host), { result: { version: "2.2.0" } });
      for (const version of ["1.1.0", "2.2.0"]) {
        t.match(await ended(past, ["rollback", target, "--to", version, ...place], host), { code: 0 });
        t.equal(await running(past, "pier-1", key), version);
      }
    });

    await t.test("a switch that was killed is undone", async (t) => {
      const secrets = { ...harbour.host, ...past.systemctl("pier-2") };
      t.equal(await running(past, "pier-2", key), "2.1.0", "the switch was half done");
      const { code } = await ended(past, ["deploy-project", ...into(past, "pier-2"), "--version", "1.2.0"], secrets);
      t.equal(code, 0);
      t.equal(await running(past, "pier-2", key), "1.2.0");
      await t.rejects(access(path("roots/pier-2/.sealift/journal.json")));
    });
  });

for (const release of PAST_RELEASES)
  t.test(`a marketplace host of ${release}: its pin and the author of the first use bind`, { skip }, async (t) => {
    const past = await unpackPast(t, release);
    const { market, path, programs, clock } = past;
    await past.serve();
    const once = ["watch", "--config", path("hosts/market/watch.yaml"), "--once"];
    t.match(await ended(past, once), { code: 0, result: { targets: [{ outcome: "current" }] } }, "every key is known");
    t.equal(await running(past, "market", "plugin-tides"), "1.1.0", "the pin holds");

    await programs.run("sealift", ["signer", "create", "--out", path("keys/other")], clock);
    await programs.run("sealift", ["plugin", "init", "tides", "--directory", path("other")], clock);
    const descriptor = path("other/plugin.yaml");
    await writeFile(descriptor, (await readFile(descriptor, "utf8")).replace(/^version: .*$/m, "version: 1.9.0"));
    const args = ["plugin", "publish", path("other"), "--signing-key-file", path("keys/other/signer.key"), "--yes"];
    await programs.run("sealift", args, { ...clock, ...market.publisher });
    await programs.run("sealift", ["unpin", "plugin:tides", "--project-root", path("roots/market")], clock);
    const refused = { code: 4, result: { targets: [{ error: { code: "trust_changed" } }] } };
    t.match(await ended(past, once), refused);
    t.equal(await running(past, "market", "plugin-tides"), "1.1.0");
  });

t.test("settings of a watch.yaml of 0.1.0 that are gone are refused by name", { skip }, async (t) => {
  const past = await unpackPast(t);
  const file = past.path("hosts/market/watch.yaml");
  const text = await readFile(file, "utf8");
  for (const [from, to, message] of [
    [
      "durability: full",
      "durability: none",
      /watch\.yaml is not valid: durability: is one of full, switch, not "none"/,
    ],
    ["supervisor: none", "supervisor: kubernetes", /supervisor: is one of none, runtime, systemd, docker/],
  ] as const) {
    await writeFile(file, text.replace(from, to));
    const { code, result } = await ended(past, ["watch", "--config", file, "--once"]);
    t.match({ code, result }, { code: 2, result: { error: { code: "config_invalid", message } } });
  }
});

for (const release of PAST_RELEASES)
  t.test(
    `contexts and trusted folders of ${release} are read, and those of a newer version refused`,
    { skip },
    async (t) => {
      const past = await unpackPast(t, release);
      await past.serve();
      const home = { XDG_CONFIG_HOME: past.path("config") };
      const { events } = await ended(past, ["context", "list"], home);
      t.match(events, [{ name: "spare", current: false }, { name: "harbour", current: true }, {}]);
      t.match(await ended(past, ["key", "list"], home), { code: 0 }, "the key of the context works");
      const file = join(home.XDG_CONFIG_HOME, "sealift/contexts.json");
      const newer = (await readFile(file, "utf8")).replace('"v": 1', '"v": 2');
      await writeFile(file, newer);
      t.match(await ended(past, ["key", "list"], home), {
        code: 2,
        result: {
          error: { code: "credential_unreadable", message: /was written by a newer version/, hint: /that version/ },
        },
      });
      t.equal(await readFile(file, "utf8"), newer);
    },
  );

t.test("a project root of a newer version is refused, says what to do, and keeps what runs", { skip }, async (t) => {
  const past = await unpackPast(t);
  const { harbour, path } = past;
  const key = `project-${harbour.id}`;
  await past.serve();
  const refused = async (root: string, code: string, hint: RegExp): Promise<void> => {
    const secrets = { ...harbour.host, ...past.systemctl(root) };
    const expected = { code: 1, result: { error: { code, hint } } };
    const deploying = ["deploy-project", ...into(past, root), "--version", "2.2.0"];
    t.match(await ended(past, deploying, secrets), expected);
    const back = ["rollback", `project:${harbour.id}`, "--to", "1.2.0", "--project-root", path("roots", root)];
    t.match(await ended(past, back, secrets), expected);
  };
  const change = async (file: string, edit: (text: string) => string): Promise<() => Promise<void>> => {
    const text = edit(await readFile(file, "utf8"));
    await writeFile(file, text);
    return async () => void t.equal(await readFile(file, "utf8"), text, "nothing has changed it");
  };
  const journal = await change(path("roots/pier-2/.sealift/journal.json"), (text) => text.replace('"v":1', '"v":2'));
  await refused("pier-2", "journal_unreadable", /Let the version of Sealift that began it finish/);
  await journal();

  const current = path("roots/pier-1/.sealift/current", key);
  const record = await change(join(current, "release.json"), (text) => text.replace('"items":[', '"parts":['));
  await refused("pier-1", "release_unreadable", /Upgrade Sealift on this host, or deploy with that version/);
  await record();
  const name = basename(await readlink(current));
  const { events } = await ended(past, ["status", "--project-root", path("roots/pier-1")]);
  t.match(events[0], { running_version: null, unreadable: [{ name, running: true }] });
  const doctor = await ended(past, ["doctor", "--project-root", path("roots/pier-1")]);
  const found = doctor.events.find(({ message }) => String(message).includes(`${name}, which runs, cannot be read`));
  t.match(found, { check: `target ${key}`, status: "warning", hint: /^It runs on\. Upgrade Sealift on this host/ });
  await access(path("roots/pier-1/plugins/tide-table/plugin.yaml"));
});
