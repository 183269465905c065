import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { consentTo } from "../../../lib/releases/consent.ts";
import {
  grantsDigest,
  type Held,
  HOLD_CAUSES,
  type HoldCause,
  holdFile,
  holdsOf,
  readHeld,
  settingsDigest,
  stillHeld,
  writeHeld,
} from "../../../lib/releases/holds.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

// Holds: which versions wait on a host, and until when (lib/releases/holds.ts)

const TARGET = "plugin-tide-table";
const RUNNING = "1.0.0-0a1b2c3d";
const SEEN = "2026-01-01T00:00:00.000Z";
const LATER = "2999-01-01T00:00:00.000Z";
const AGO = "2026-01-01T00:10:00.000Z";

/** Files of a root as the releases wrote them: rights since 0.1.0, policy and applications since 0.2.0. */
const PAST: Record<string, string> = {
  "rights-plugin-tide-table.json":
    '{"version":"2.0.0","identity":"bytes","over":"1.0.0-0a1b2c3d","running_version":"1.0.0","rights":["a: network: all"],"at":"2026-01-01T00:00:00.000Z"}\n',
  "policy-plugin-tide-table.json":
    '{"version":"2.0.0","identity":null,"message":"2.0.0 does not meet the rule sbom","again":"2999-01-01T00:00:00.000Z","at":"2026-01-01T00:00:00.000Z"}\n',
  "apps-plugin-tide-table.json":
    '{"version":"2.0.0","identity":"bytes","message":"The host does not allow web","grants":null,"again":null,"at":"2026-01-01T00:00:00.000Z"}\n',
};

/** Returns a root in which a release runs. */
async function rootOf(t: Test) {
  const layout = layoutOf(temporaryFolder(t));
  await mkdir(dirname(layout.current(TARGET)), { recursive: true });
  await symlink(`../releases/${TARGET}/${RUNNING}`, layout.current(TARGET));
  const state = join(layout.sealift, "state");
  await mkdir(state, { recursive: true });
  return { layout, state };
}

t.test("what 0.1.0 and 0.2.0 wrote is read as they meant it, and written as they read it", async (t) => {
  const { layout, state } = await rootOf(t);
  for (const [name, text] of Object.entries(PAST)) await writeFile(join(state, name), text);
  const message = "2.0.0 asks for more rights than the running 1.0.0: a: network: all.";
  t.strictSame(await holdsOf(layout, TARGET), [
    {
      ...{ reason: "rights", version: "2.0.0", identity: "bytes", again: null, message },
      rights: ["a: network: all"],
    },
    {
      ...{ reason: "policy", version: "2.0.0", identity: null, again: LATER },
      message: "2.0.0 does not meet the rule sbom",
    },
    {
      ...{ reason: "application", version: "2.0.0", identity: "bytes", again: null },
      message: "The host does not allow web",
    },
  ]);
  const rewrite = async <C extends HoldCause>(cause: C): Promise<void> => {
    const held = await readHeld(layout, TARGET, cause);
    if (held !== undefined) await writeHeld(layout, TARGET, cause, held);
  };
  for (const cause of HOLD_CAUSES) await rewrite(cause);
  for (const [name, text] of Object.entries(PAST))
    t.strictSame(JSON.parse(await readFile(join(state, name), "utf8")), JSON.parse(text), name);
});

t.test("rights wait while the same release runs and nobody has consented to all of them", async (t) => {
  const { layout } = await rootOf(t);
  const held = {
    ...{ version: "2.0.0", identity: null, at: LATER },
    ...{ over: RUNNING, running_version: "1.0.0", rights: ["one", "two"] },
  };
  await writeHeld(layout, TARGET, "rights", held);
  t.match(await stillHeld(layout, TARGET, "rights"), held);
  await consentTo(layout, TARGET, { ...held, rights: ["one"] });
  t.match(await stillHeld(layout, TARGET, "rights"), held, "one is open");
  await consentTo(layout, TARGET, held);
  t.equal(await stillHeld(layout, TARGET, "rights"), undefined);
  await writeHeld(layout, TARGET, "rights", { ...held, over: "0.9.0-ffffffff" });
  t.equal(await stillHeld(layout, TARGET, "rights"), undefined, "another release runs");
});

const base = { version: "2.0.0", identity: null, message: "it does not", at: SEEN };

t.test("a policy's refusal counts until its next look, and not from a clock that was ahead", async (t) => {
  const { layout } = await rootOf(t);
  const cases: [Partial<Held<"policy">>, boolean][] = [
    [{ again: LATER }, true],
    [{ again: AGO }, false],
    [{ again: LATER, at: "2998-01-01T00:00:00.000Z" }, false],
    [{ again: "soon" }, false],
  ];
  for (const [more, stands] of cases) {
    await writeHeld(layout, TARGET, "policy", { ...base, again: LATER, ...more });
    t.equal((await stillHeld(layout, TARGET, "policy")) !== undefined, stands, JSON.stringify(more));
  }
});

t.test("an application waits until the operator's file changes, or its next look", async (t) => {
  const { layout } = await rootOf(t);
  const held = { ...base, grants: await grantsDigest(layout), again: null };
  await writeHeld(layout, TARGET, "application", held);
  t.match(await stillHeld(layout, TARGET, "application"), held);
  await writeHeld(layout, TARGET, "application", { ...held, again: AGO });
  t.equal(await stillHeld(layout, TARGET, "application"), undefined);
  await writeHeld(layout, TARGET, "application", held);
  await writeFile(join(layout.root, "applications.yaml"), "applications: {}\n");
  t.equal(await stillHeld(layout, TARGET, "application"), undefined);
});

t.test("a version waits for settings until one of its applications gets another", async (t) => {
  const { layout } = await rootOf(t);
  const settings = await settingsDigest(layout, TARGET, ["web"]);
  await writeHeld(layout, TARGET, "settings", { ...base, apps: ["web"], settings });
  t.match(await holdsOf(layout, TARGET), [{ reason: "settings", message: base.message, again: null }]);
  t.strictSame(await holdsOf(layout, TARGET, ["policy", "application"]), [], "others are not read");
  const file = layout.envFile({ section: "apps", id: "web" });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, "TOKEN=x\n", { mode: 0o600 });
  t.strictSame(await holdsOf(layout, TARGET), []);
});

t.test("each cause has a file of its own, and a torn one holds nothing", async (t) => {
  const { layout } = await rootOf(t);
  t.equal(new Set(HOLD_CAUSES.map((cause) => holdFile(layout, TARGET, cause))).size, HOLD_CAUSES.length);
  for (const cause of HOLD_CAUSES) await writeFile(holdFile(layout, TARGET, cause), '{"version":"2.0');
  t.strictSame(await holdsOf(layout, TARGET), []);
});
