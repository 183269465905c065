// Only in test:all: rounds of races.
/**
 * Somebody takes a right away while its holder makes more keys of it, at another hub of the database. Whoever comes
 * first, no key may go on working afterwards, and none may be left with a former owner.
 */
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { rounds } from "../../support/effort.ts";
import type { Answer, RunningHub } from "../../support/hub/harness.ts";
import { ownSecrets, signerHex, soon } from "../../support/hub/joining.ts";
import { startWorkflow, type Workflow } from "../../support/hub/publishers.ts";
import { RACED, startRacedHubs } from "../../support/hub/two-hubs.ts";

const ROUNDS = rounds(10, 300);
const SCOPES = ["keys", "projects", "publish", "deploy", "report", "read"];
const KEYS = "/devkeys/api-keys";

/** Keys that a round has handed out, with the owners that they may belong to. */
interface Outcome {
  answers: readonly Answer[];
  /** Keys that must have ended. */
  ended?: readonly (string | undefined)[];
  /** Keys that may live, but not with the former owner. */
  passedOn?: readonly (string | undefined)[];
}

class World {
  /** Hub of those who keep their rights. */
  readonly here: RunningHub;
  /** Hub of those who lose them. */
  readonly there: RunningHub;
  readonly workflow: Workflow;
  readonly owners: Record<"former" | "next", string>;

  constructor([here, there]: [RunningHub, RunningHub], workflow: Workflow, owners: World["owners"]) {
    [this.here, this.there, this.workflow, this.owners] = [here, there, workflow, owners];
  }

  /** Makes a project of the former owner. */
  async project(): Promise<string> {
    const json = { name: "Raced", kind: "project", same_name: true };
    return (await this.here.call("POST", "/devkeys/projects", { key: this.owners.former, json })).body.id as string;
  }

  /** Makes a key of the former owner for a project. */
  async bound(project_id: string, more: object = {}): Promise<{ id: string; key: string }> {
    const json = { name: "bound", project_id, scopes: SCOPES, ...more };
    const { body } = await this.here.call("POST", KEYS, { key: this.owners.former, json });
    return body as { id: string; key: string };
  }

  rotate = ({ id, key }: { id: string; key: string }) => this.there.call("POST", `${KEYS}/${id}/rotate`, { key });
  create = (key: string, project_id: string) =>
    this.there.call("POST", KEYS, { key, json: { name: "more", project_id, scopes: ["publish"] } });
  transfer = (id: string, keep_keys: boolean) =>
    this.here.call("POST", `/devkeys/projects/${id}/transfer`, { json: { owner: "next", keep_keys } });
  remove = (id: string) => this.here.call("DELETE", `/devkeys/projects/${id}?force=true`);
  invite = (id: string, key: string) =>
    this.there.call("POST", `/devkeys/projects/${id}/host-invites`, {
      ...{ key, json: { signers: [signerHex()], expires_at: soon() } },
    });
  join = (token: string, own: ReturnType<typeof ownSecrets>, host_id = "host") =>
    this.there.call("POST", "/devkeys/join", { key: null, json: { token, host_id, ...own } });
}

/** Runs both sides at nearly the same moment. */
async function together<A, B>(one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  const late = <T>(work: () => Promise<T>) => sleep(Math.random() * 5).then(work);
  return Promise.all([late(one), late(other)]);
}

const keyIn = ({ status, body }: Answer): string | undefined => (status === 201 ? (body.key as string) : undefined);

const RACES: Record<string, (world: World) => Promise<Outcome>> = {
  async "a host's key is rotated while the host is renamed, and then removed"(world) {
    const id = await world.project();
    const own = await world.bound(id, { host: "old", scopes: ["deploy", "report"] });
    const at = `/devkeys/projects/${id}/joined-hosts`;
    const [rotated, renamed] = await together(
      () => world.rotate(own),
      () => world.here.call("PATCH", `${at}/old`, { json: { host_id: "new" } }),
    );
    const removed = await world.here.call("DELETE", `${at}/new`);
    return { answers: [rotated, renamed, removed], ended: [own.key, keyIn(rotated)] };
  },
  async "a thief rotates a host's key again and again, and the operator renames and removes the host"(world) {
    const id = await world.project();
    const stolen = await world.bound(id, { host: "old", scopes: ["deploy", "report"] });
    const at = `/devkeys/projects/${id}/joined-hosts`;
    const [taken, answers] = await together(
      async () => {
        const keys = [stolen];
        for (let tries = 0; tries < 30; tries++) {
          const { status, body } = await world.rotate(keys.at(-1)!);
          if (status !== 201) break;
          keys.push(body as typeof stolen);
        }
        return keys;
      },
      async () => {
        await sleep(Math.random() * 30);
        const renamed = await world.here.call("PATCH", `${at}/old`, { json: { host_id: "new" } });
        return [renamed, await world.here.call("DELETE", `${at}/new`)];
      },
    );
    return { answers, ended: taken.map(({ key }) => key) };
  },
  async "a key is rotated while it is revoked"(world) {
    const own = await world.bound(await world.project());
    const [rotated, revoked] = await together(
      () => world.rotate(own),
      () => world.here.call("DELETE", `${KEYS}/${own.id}`),
    );
    return { answers: [rotated, revoked], ended: [own.key] };
  },
  async "a bound key is rotated, and makes another one, while its project goes to somebody else with its keys"(world) {
    const id = await world.project();
    const own = await world.bound(id);
    const [made, transferred] = await together(
      () => Promise.all([world.create(own.key, id), world.rotate(own)]),
      () => world.transfer(id, true),
    );
    return { answers: [...made, transferred], passedOn: [own.key, ...made.map(keyIn)] };
  },
  async "keys are made and rotated while their project goes to somebody else without them"(world) {
    const id = await world.project();
    const own = await world.bound(id);
    const [made, transferred] = await together(
      () => Promise.all([world.create(world.owners.former, id), world.create(own.key, id), world.rotate(own)]),
      () => world.transfer(id, false),
    );
    return { answers: [...made, transferred], ended: [own.key, ...made.map(keyIn)] };
  },
  async "keys and invites are made, and a host joins, while the project is deleted"(world) {
    const id = await world.project();
    const own = await world.bound(id);
    const { token } = (await world.invite(id, own.key)).body as { token: string };
    const host = ownSecrets();
    const [made, deleted] = await together(
      () =>
        Promise.all([
          world.create(own.key, id),
          world.rotate(own),
          world.invite(id, own.key),
          world.join(token, host),
          world.workflow.trust({ target: `project:${id}` }, own.key),
        ]),
      () => world.remove(id),
    );
    return { answers: [...made, deleted], ended: [own.key, host.key, ...made.map(keyIn)] };
  },
  async "hosts are invited, by both kinds of key, while the project goes to somebody else with its keys"(world) {
    const id = await world.project();
    const own = await world.bound(id);
    const [invited, transferred] = await together(
      () => Promise.all([world.invite(id, world.owners.former), world.invite(id, own.key)]),
      () => world.transfer(id, true),
    );
    const hosts = invited.map(() => ownSecrets());
    const joined = await Promise.all(
      invited.map(({ body }, at) => world.join((body.token as string | undefined) ?? "none", hosts[at]!, `host-${at}`)),
    );
    return { answers: [...invited, transferred, ...joined], passedOn: hosts.map(({ key }) => key) };
  },
  async "a host joins while it is removed"(world) {
    const id = await world.project();
    const { token } = (await world.invite(id, world.owners.former)).body as { token: string };
    const own = ownSecrets();
    await world.join(token, own);
    const path = `/devkeys/projects/${id}/joined-hosts/host`;
    const [joined, removed] = await together(
      () => world.join(token, own),
      () => world.here.call("DELETE", path),
    );
    return { answers: [joined, removed], ended: [own.key] };
  },
  async "a host joins while the project goes to somebody else"(world) {
    const id = await world.project();
    const { token } = (await world.invite(id, world.owners.former)).body as { token: string };
    const own = ownSecrets();
    const [joined, transferred] = await together(
      () => world.join(token, own),
      () => world.transfer(id, false),
    );
    return { answers: [joined, transferred], ended: [own.key] };
  },
  async "runs exchange their tokens while the target goes to somebody else with its keys"(world) {
    const id = await world.project();
    await world.workflow.trust({ target: `project:${id}` }, world.owners.former);
    const tokens = await Promise.all([1, 2].map(() => world.workflow.run()));
    const [got, transferred] = await together(
      () => Promise.all(tokens.map((token) => world.workflow.exchange(`project:${id}`, token, world.there))),
      () => world.transfer(id, true),
    );
    return { answers: [...got, transferred], passedOn: got.map(keyIn) };
  },
  async "runs exchange their tokens while the target is deleted"(world) {
    const id = await world.project();
    await world.workflow.trust({ target: `project:${id}` }, world.owners.former);
    const tokens = await Promise.all([1, 2].map(() => world.workflow.run()));
    const [got, deleted] = await together(
      () => Promise.all(tokens.map((token) => world.workflow.exchange(`project:${id}`, token, world.there))),
      () => world.remove(id),
    );
    return { answers: [...got, deleted], ended: got.map(keyIn) };
  },
  async "runs create their target, and get keys, while the publisher is removed"(world) {
    const creates = { kind: "project", name: "Raced" } as const;
    const { body } = await world.workflow.trust({ creates }, world.owners.former);
    const tokens = await Promise.all([1, 2].map(() => world.workflow.run()));
    const target = `project:${(body as { creates: { slug: string } }).creates.slug}`;
    const [got, removed] = await together(
      () => Promise.all(tokens.map((token) => world.workflow.exchange(target, token, world.there))),
      () => world.here.call("DELETE", `/devkeys/publishers/${body.id}`),
    );
    if (removed.status !== 204) throw new Error(`the publisher stays: ${removed.status}`);
    return { answers: [...got, removed], ended: got.map(keyIn) };
  },
  async "a workflow is trusted while its target goes to somebody else with its keys"(world) {
    const id = await world.project();
    const own = await world.bound(id);
    const [trusted, transferred] = await together(
      () => world.workflow.trust({ target: `project:${id}` }, own.key),
      () => world.transfer(id, true),
    );
    const { items } = (await world.here.call("GET", "/devkeys/publishers?limit=200", { key: world.owners.former }))
      .body as { items: { target: string | null }[] };
    const left = items.filter(({ target }) => target === `project:${id}`);
    if (left.length > 0) throw new Error("a publisher of the former owner stays");
    return { answers: [trusted, transferred] };
  },
};

async function fateOf(world: World, key: string): Promise<string> {
  const { status, body } = await world.here.call("GET", "/devkeys/key", { key });
  return status === 200 ? `lives as ${body.owner}'s` : "has ended";
}

async function played(t: Test, world: World, play: (world: World) => Promise<Outcome>): Promise<void> {
  const faults: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { answers, ended = [], passedOn = [] } = await play(world);
    for (const { status, body } of answers) if (status >= 500) faults.push(`${status} ${body?.code}`);
    for (const key of ended) {
      const fate = key === undefined ? "has ended" : await fateOf(world, key);
      if (fate !== "has ended") faults.push(fate);
    }
    for (const key of passedOn) {
      const fate = key === undefined ? "has ended" : await fateOf(world, key);
      if (fate === "lives as former's") faults.push(fate);
    }
  }
  t.strictSame(faults, [], `${ROUNDS} rounds`);
}

for (const database of RACED)
  t.test(`no key lives on, on ${database}`, async (t) => {
    const hubs = await startRacedHubs(t, database, { rateLimits: false, issuerAllow: ["127.0.0.1"] });
    if (hubs === undefined) return t.plan(0, "PostgreSQL is not installed");
    const [hub] = hubs;
    const issue = async (owner: string) =>
      (await hub.call("POST", KEYS, { json: { name: owner, owner, scopes: SCOPES } })).body.key as string;
    const owners = { former: await issue("former"), next: await issue("next") };
    const world = new World(hubs, await startWorkflow(t, { hub }), owners);
    for (const [name, play] of Object.entries(RACES)) await t.test(name, (t) => played(t, world, play));
  });
