import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandClass } from "clipanion";
import t from "tap";
import { commandPlace } from "../../commands/shell/place.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { deploy } from "../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../lib/agent/deployment/run.ts";
import { GIVEN_TARGET, INSTALL, sourceOf } from "../support/host/given-source.ts";
import { featureLists, localFeatures } from "../support/hub/features.ts";
import type { Lists } from "../support/hub/filling.ts";
import { createProject, publication, startHub } from "../support/hub/harness.ts";
import type { Ended } from "../support/programs/command-line.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs a command in this process. @param isTTY whether stdout is a terminal */
function run(line: string, options?: { isTTY: boolean }): Promise<Ended> {
  const words = line.split(" ");
  // Clipanion takes a quarter of a second to compile the options of all.
  const { command: called } = commandPlace(COMMANDS, words);
  return runHere(called === undefined ? COMMANDS : [called], words, options);
}

type Listing = CommandClass & { listed?: () => readonly string[] | Promise<readonly string[]> };
const nameOf = (command: CommandClass): string => command.paths![0]!.join(" ");

t.test("every list knows its fields without a record, and refuses others before it asks anybody", async (t) => {
  const root = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = temporaryFolder(t);
  const hub = await startHub(t, localFeatures());
  const { dataDir, url, adminKey } = hub;
  Object.assign(process.env, {
    ...{ SEALIFT_HUB_URL: url, SEALIFT_API_KEY: adminKey, SEALIFT_PROJECT_ROOT: root },
  });
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
  for (const version of ["1.0.0", "2.0.0"]) await deploy(sourceOf(version, INSTALL), options, () => undefined);
  const target = GIVEN_TARGET.replace("-", ":");
  const { body: project } = await hub.call("POST", "/devkeys/projects", {
    json: { name: "Tides", kind: "plugin", slug: "tides" },
  });

  const { body: harbour } = await hub.call("POST", "/devkeys/projects", { json: { name: "Harbour", kind: "project" } });
  const featured = await featureLists({
    ...{ hub, folder: root, plugin: project.id as string, project: harbour.id as string },
  });

  const fleet = join(root, "fleet.yaml");
  await writeFile(fleet, "project: Harbour\nsettings: [{ match: { env: prod }, apps: { web: { A: b } } }]\n");

  /** A line of each list, and what it has to list: nothing, or something. */
  const lists: Lists = {
    ...featured,
    "app status": ["app status", false],
    "audit list": ["audit list", true],
    "context list": ["context list", false],
    diff: [`diff ${target} 1.0.0`, true],
    docs: ["docs", true],
    doctor: ["doctor", true],
    fleet: ["fleet plugin:tides", false],
    "fleet adoption": ["fleet adoption plugin:tides", true],
    "grant list": ["grant list tides", false],
    history: [`history ${target}`, true],
    "hub retain": [`hub retain --keep 1 --data-dir ${dataDir}`, false],
    "hub verify": [`hub verify --data-dir ${dataDir}`, false],
    "key list": ["key list", true],
    "marketplace search": ["marketplace search nothing", false],
    "project list": ["project list", true],
    releases: [`releases ${target}`, true],
    "settings show": [`settings show --fleet ${fleet}`, false],
    "signer list": [`signer list ${project.id}`, false],
    status: ["status", true],
    "trust-folder": ["trust-folder --list", false],
    "version diff": [`version diff plugin:tides 1.0.0`, false],
    "version list": [`version list ${project.id}`, false],
  };
  const listing = (COMMANDS as Listing[]).filter(({ listed }) => listed !== undefined);
  t.strictSame(listing.map(nameOf).toSorted(), Object.keys(lists).toSorted());
  const named = COMMANDS.map(nameOf).filter((name) => name.endsWith("list"));
  t.strictSame(
    named.filter((name) => lists[name] === undefined),
    [],
    "and every `list` is one",
  );

  for (const command of listing) {
    const name = nameOf(command);
    const [line, records] = lists[name]!;
    const fields = await command.listed!();
    const wrong = await run(`${line} --fields ${fields[0]}x`);
    t.match(wrong, { code: 2, stdout: "", stderr: new RegExp(`there is no ${fields[0]}x\\..*has ${fields[0]}`) }, name);
    if (name.endsWith(" diff")) continue;
    const csv = await run(`${line} --csv`);
    t.match(csv, { stdout: new RegExp(`^${fields.join(",")}\n${records ? "." : "$"}`) }, `${name} has a title line`);
    const chosen = await run(`${line} --fields ${fields[0]}`);
    t.match(chosen.stdout, records ? new RegExp(`^\\{"${fields[0]}":`) : /^$/, name);
    const events = (await run(`${line} --json`)).stdout.trim().split("\n").slice(0, -1);
    const found = events
      .flatMap((event) => Object.keys(JSON.parse(event) as object))
      .filter((key) => key !== "v" && key !== "event");
    t.strictSame(
      found.filter((key) => !fields.includes(key)),
      [],
      `${name} prints no other fields`,
    );
    t.equal(events.length > 0, records);
  }
});

t.test("words of others begin no line of their own", async (t) => {
  const hub = await startHub(t);
  const { url, adminKey } = hub;
  Object.assign(process.env, { SEALIFT_HUB_URL: url, SEALIFT_API_KEY: adminKey });
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const forged = "slow\n2026-01-01T00:00:00.000Z  key.revoke           admin            key_1\u2028and more";
  const path = `/devkeys/projects/${project.id}/versions/1.0.0/yank`;
  t.equal((await hub.call("POST", path, { json: { reason: forged } })).status, 204);
  for (const line of ["audit list --action version.yank", `version list ${project.id}`]) {
    const { stdout, code } = await run(line);
    t.equal(code, 0, stdout);
    t.equal(stdout.trimEnd().split(/[\n\u2028]/).length, 1, stdout);
    t.match(stdout, /slow 2026-01-01T00:00:00\.000Z {2}key\.revoke/);
  }
});

t.test("lists that are printed as they come have titles on a terminal, above their columns", async (t) => {
  const hub = await startHub(t);
  const { url, adminKey } = hub;
  Object.assign(process.env, { SEALIFT_HUB_URL: url, SEALIFT_API_KEY: adminKey });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tides", kind: "plugin", slug: "tides" } });
  await hub.call("PUT", "/app/plugins/tides/visibility", { json: { visibility: "public" } });
  for (const [line, titles] of [
    ["audit list", /^TIME +ACTION +ACTOR +SUBJECT +FACTS$/],
    ["marketplace search tides", /^SLUG +LATEST +VISIBILITY +DESCRIPTION$/],
  ] as const) {
    const { stdout } = await run(line, { isTTY: true });
    const [title, ...rows] = stdout.trim().split("\n");
    t.match(title, titles, line);
    t.ok(rows.length > 0, line);
    for (const { index } of title!.matchAll(/\S+/g)) {
      if (title!.slice(index).startsWith("FACTS")) continue;
      for (const row of rows) t.match(row.slice(index - 1, index + 1), index === 0 ? /^$/ : /^ \S$/, `${line}: ${row}`);
    }
    t.notMatch((await run(line)).stdout, titles, "a program that reads the lines counts on rows only");
  }
});
