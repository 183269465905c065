// Holds: which numbers and outcomes an operator believes (lib/fleet/numbers.ts, lib/fleet/carry-out.ts)
import { randomBytes } from "node:crypto";
import t from "tap";
import {
  BOTH,
  hearLies,
  type LiedToOperator,
  liedToOperator,
  type OperatorLie,
  outcome,
  SECRET,
  told,
} from "../../support/hub/lied-operator.ts";

/** Hands the outcome of a host over as another one. @param forge of the real one, and the row's number */
const answers =
  (forge: (world: LiedToOperator, real: string, number: number) => string | null) =>
  (world: LiedToOperator): void => {
    const { hub, answer, seven, eight } = world;
    hub.onUpload = (documents) => {
      for (const { host_id: name, number } of documents) {
        const host = [seven, eight].find((each) => each.name === name)!;
        answer(host);
        const row = hub.rows.get(name)!;
        Object.assign(row, { outcome: forge(world, row.outcome!, number), outcome_at: new Date().toISOString() });
      }
    };
  };

const WAIT = "--wait 50ms";
const LIES: readonly OperatorLie[] = [
  told("names without keys", 0, undefined, BOTH, ({ hub }) => {
    for (let index = 0; index < 300; index++) hub.put(`ghost-${index}`);
  }),
  told("a host less", 0, /The hub does not list pier-7/, ["pier-8"], ({ hub }) => hub.rows.delete("pier-7")),
  told("no host at all", 0, /The hub does not list pier-7, pier-8/, [], ({ hub }) => hub.rows.clear()),
  told(
    "the highest number that there is",
    1,
    /settings_conflict/,
    [],
    ({ hub }) => Object.assign(hub.rows.get("pier-7")!, { number: Number.MAX_SAFE_INTEGER }),
    "--replace",
  ),
  told("a number that nobody has made", 1, /settings_conflict/, [], ({ hub }) =>
    Object.assign(hub.rows.get("pier-7")!, { number: 5 }),
  ),
  told("that it has lost what it had", 0, undefined, BOTH, ({ hub }) =>
    Object.assign(hub.rows.get("pier-7")!, { number: null, to: null, sealed: undefined, outcome: null }),
  ),
  told("that the settings are another key's", 0, undefined, BOTH, ({ hub }) =>
    Object.assign(hub.rows.get("pier-7")!, { to: "ab".repeat(32) }),
  ),
  told("a conflict at every upload", 1, /settings_conflict/, [], ({ hub }) => {
    const again = () => {
      hub.rows.get("pier-7")!.number!++;
      hub.rows.get("pier-8")!.number!++;
      hub.beforeUpload = again;
    };
    hub.beforeUpload = again;
  }),
  told(
    "applied, in a host's name",
    75,
    /settings_unfinished/,
    ["pier-8"],
    answers(({ evil, eight }) => outcome(evil, { to: eight.key.fingerprint })),
    WAIT,
  ),
  told(
    "failed, in a host's name",
    75,
    /settings_unfinished/,
    ["pier-8"],
    answers(({ evil, eight }) => outcome(evil, { to: eight.key.fingerprint, state: "failed", code: "health_failed" })),
    WAIT,
  ),
  told(
    "applied, where the host has said failed",
    75,
    /settings_unfinished/,
    ["pier-8"],
    ({ eight, ...world }) => {
      eight.answers = { state: "failed", code: "health_failed" };
      answers((_world, real) => real.replace('"failed"', '"applied"').replace('"health_failed"', "null"))({
        eight,
        ...world,
      });
    },
    WAIT,
  ),
  told(
    "what the host has said before",
    75,
    /settings_unfinished/,
    ["pier-8"],
    (world) => {
      const before = world.hub.rows.get("pier-8")!.outcome!;
      answers(() => before)(world);
    },
    WAIT,
  ),
  told(
    "what the other host says",
    75,
    /settings_unfinished/,
    ["pier-8"],
    answers(({ seven }, _real, number) => outcome(seven.key, { number })),
    WAIT,
  ),
  told(
    "what the host says of another project",
    75,
    /settings_unfinished/,
    ["pier-8"],
    answers(({ eight }, _real, number) => outcome(eight.key, { number, project: `prj_${"f".repeat(32)}` })),
    WAIT,
  ),
  told(
    "nothing of what the host says",
    75,
    /settings_unfinished/,
    ["pier-8"],
    answers(() => null),
    WAIT,
  ),
  told(
    "what the host says of other settings of this number",
    1,
    /settings_conflict/,
    ["pier-8"],
    answers(({ eight }, _real, number) => outcome(eight.key, { number })),
    WAIT,
  ),
  told(
    "what the host says of settings that nobody made",
    1,
    /settings_conflict/,
    ["pier-8"],
    answers(({ eight }, _real, number) => outcome(eight.key, { number: number + 1 })),
    WAIT,
  ),
];
t.test("an operator believes no number and no outcome that a lying hub makes up", async (t) => {
  t.ok(LIES.length >= 15);
  await hearLies(t, LIES);
});

t.test("after all of it, one apply of the truth gives BOTH hosts what they are to have", async (t) => {
  const world = await liedToOperator(t);
  const { hub, apply, seven, eight, change } = world;
  Object.assign(hub.rows.get("pier-7")!, { number: 5 });
  t.match(await apply(), { code: 1 });
  t.match(await apply("--replace"), { code: 0 });
  t.match(seven.document, { number: 6, apps: { web: { A: "two" } } });
  change("three");
  t.match(await apply(), { code: 0 });
  for (const { document } of [seven, eight]) t.match(document, { apps: { web: { A: "three", SECRET } } });
});

t.test("a host that is removed while the hub fails is removed for the operator all the same", async (t) => {
  const { run, file, hub, lockText, seven } = await liedToOperator(t);
  hub.fails = ["DELETE /settings/:host"];
  t.match(await run(`settings remove pier-7 --fleet ${file}`), { code: 75, stderr: /hub_unavailable/ });
  t.match(JSON.parse(lockText()), { hosts: { [seven.key.fingerprint]: { removed: true } } });
});

t.test("labels that a hub says of hosts choose no settings, and are named", async (t) => {
  const { run, file, hub, write, apply, seven, eight } = await liedToOperator(t);
  hub.labels = { "pier-7": { env: "test" }, "pier-8": { env: "prod" } };
  write("settings:\n  - match: { env: prod }\n    apps: { web: { A: for-prod } }\n");
  t.match(await apply(), { code: 0 });
  for (const { document } of [seven, eight]) t.match(document, { apps: { web: { A: "for-prod" } } });
  const shown = await run(`settings show --fleet ${file}`);
  t.match(shown, { stdout: /pier-7 .*env=prod/, stderr: "pier-7 has other labels at the hub: env=test.\n" });
});

t.test("a list of hosts without an end is refused", async (t) => {
  const { run, file, hub } = await liedToOperator(t);
  hub.isEndless = true;
  t.match(await run(`settings show --fleet ${file}`), { code: 1, stderr: /bad_answer/ });
});

t.test("a hub that names another project than the roll's gets nothing", async (t) => {
  const { apply, hub, run, file } = await liedToOperator(t);
  hub.projectId = `prj_${"e".repeat(32)}`;
  const before = hub.uploads.length;
  t.match(await apply(), { code: 2, stderr: /config_invalid/ });
  const line = `shk1.${randomBytes(32).toString("hex")}.${randomBytes(32).toString("hex")}`;
  t.match(await run(`settings accept pier-9 ${line} --fleet ${file}`), { code: 2, stderr: /config_invalid/ });
  t.equal(hub.uploads.length, before);
});
