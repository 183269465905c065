// Holds: which processes are an application's where there are no control groups (lib/apps/membership.ts,
// lib/apps/setting.ts)
// In a process of its own: it says that it is a container, and starts programs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import t, { type Test } from "tap";
import { endMembers, type MembershipFacts, membershipOf } from "../../../lib/apps/membership.ts";
import { factsOf, processesOf } from "../../../lib/apps/processes.ts";
import { readSetting } from "../../../lib/apps/setting.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { noOwnUsers, ownUser } from "../../support/host/served-root.ts";
import { until } from "../../support/until.ts";

/** A user whom nobody else has. */
const UID = 1_000_000 + process.pid;
const NOBODY = 65_534;
const FOUND = { members: undefined, reason: "there are no control groups" } as const;

const asked = (uid: number, more: Partial<MembershipFacts> = {}) =>
  membershipOf({
    ...{ id: "web", user: { name: "web", home: "/", ids: { uid, gid: uid } }, grant: { alone: true } },
    ...{ found: FOUND, others: new Map(), ranBefore: false, ...more },
  });

/** Starts a program as another user, who has no other one. */
async function running(t: Test, uid: number): Promise<number> {
  const child = spawn("sleep", ["60"], { uid, gid: uid, stdio: "ignore" });
  t.teardown(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  await until(async () => (await processesOf(uid)).includes(child.pid!));
  return child.pid!;
}

t.test("a user counts who is the application's alone, in a container also without a word in the grant", async (t) => {
  t.match(await asked(UID), { kind: "user", uid: UID, reason: FOUND.reason });
  const grant = { alone: false };
  process.env.KUBERNETES_SERVICE_HOST = "10.0.0.1";
  t.teardown(() => delete process.env.KUBERNETES_SERVICE_HOST);
  t.match(await asked(UID, { grant }), { kind: "user", uid: UID });
  t.match(await asked(99, { grant }), { kind: "none", reason: /no control groups, and that is a user of the system/ });
});

t.test("a user of the system, or of another application, is nobody's alone", async (t) => {
  for (const uid of [0, 99, NOBODY])
    await t.rejects(asked(uid), { code: "not_granted", message: /for itself, but that is a user of the system/ });
  await t.rejects(asked(UID, { others: new Map([[UID, "the user of api"]]) }), {
    message: /the user of api is the same/,
  });
});

t.test(
  "what a user runs already counts",
  { skip: process.getuid?.() !== 0 && "only root changes users" },
  async (t) => {
    const pid = await running(t, UID);
    await t.rejects(asked(UID), { code: "not_granted", message: new RegExp(`it runs the process ${pid} already`) });
    t.match(await asked(UID, { ranBefore: true }), { kind: "user", uid: UID }, "unless it is the application itself");
    t.strictSame(await endMembers({ kind: "user", uid: UID }), []);
    t.not((await factsOf(pid))?.isZombie, false);
  },
);

t.test("no user of the system is ended", { skip: process.getuid?.() !== 0 && "only root changes users" }, async (t) => {
  const pid = await running(t, 99);
  await t.rejects(endMembers({ kind: "user", uid: 99 }), { message: /user 99 is the system's/ });
  t.match(await factsOf(pid), { isZombie: false });
});

t.test("only the user who ran it in this boot may run something already", { skip: noOwnUsers() }, async (t) => {
  const root = await ApplicationRoot.make(t);
  const user = ownUser(t);
  await root.install("web", { files: { "server.js": "" } });
  await root.grantAsIs({ web: { user, alone: true } });
  const setting = (ranAlone?: number) => readSetting(root.layout, "web", { found: FOUND, ranAlone });
  const { uid } = (await setting()).user.ids!;
  await running(t, uid);
  await t.rejects(setting(), { code: "not_granted" });
  await t.rejects(setting(uid + 1), { code: "not_granted" });
  t.match((await setting(uid)).membership, { kind: "user", uid });
});
