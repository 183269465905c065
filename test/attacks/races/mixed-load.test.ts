// Only in test:all: rounds of races.
/**
 * Everything that locks targets, owners' turns, keys, publishers and invites is asked for at once, at two hubs of one
 * database: no two requests wait for each other, which would be answered with 500.
 */
import t, { type Test } from "tap";
import { rounds } from "../../support/effort.ts";
import type { Answer, RunningHub } from "../../support/hub/harness.ts";
import { ownSecrets, signerHex, soon } from "../../support/hub/joining.ts";
import { startWorkflow } from "../../support/hub/publishers.ts";
import { RACED, startRacedHubs } from "../../support/hub/two-hubs.ts";

const CALLS = rounds(200, 2000);
const AT_ONCE = 16;
const SCOPES = ["keys", "projects", "publish", "deploy", "report", "read"];

/** Returns one of some things. */
const oneOf = <T>(things: readonly T[]): T => things[Math.floor(Math.random() * things.length)]!;

async function load(t: Test, hubs: readonly [RunningHub, RunningHub]): Promise<void> {
  const [hub] = hubs;
  const workflow = await startWorkflow(t, { hub });
  const call = (...given: Parameters<RunningHub["call"]>) => oneOf(hubs).call(...given);
  const issue = async (owner: string, more: object = {}) =>
    (await call("POST", "/devkeys/api-keys", { json: { name: owner, owner, scopes: SCOPES, ...more } })).body as {
      id: string;
      key: string;
    };
  const owners = ["one", "two"];
  const keys = [await issue("one"), await issue("two")];
  const bound: { id: string; key: string }[] = [];
  const projects: string[] = [];
  const tokens: string[] = [];
  const publishers: string[] = [];

  const addProject = async (): Promise<Answer> => {
    const json = { name: "Load", kind: "project", same_name: true };
    const answer = await call("POST", "/devkeys/projects", { key: oneOf(keys).key, json });
    projects.push(answer.body.id as string);
    return answer;
  };
  const kept = (list: string[], answer: Answer, name: string): Answer => {
    if (answer.status === 201) list.push(answer.body[name] as string);
    return answer;
  };
  const acts: (() => Promise<Answer>)[] = [
    addProject,
    () => call("PATCH", `/devkeys/projects/${oneOf(projects)}`, { json: { name: `Load ${Math.random()}` } }),
    () => {
      const json = { owner: oneOf(owners), keep_keys: Math.random() < 0.5 };
      return call("POST", `/devkeys/projects/${oneOf(projects)}/transfer`, { json });
    },
    () => {
      const gone = projects.length > 4 ? projects.shift()! : projects[0]!;
      return call("DELETE", `/devkeys/projects/${gone}?force=true`);
    },
    async () => {
      const json = { name: "b", project_id: oneOf(projects), scopes: SCOPES };
      const answer = await call("POST", "/devkeys/api-keys", { json });
      if (answer.status === 201) bound.push(answer.body as { id: string; key: string });
      return answer;
    },
    async () => {
      const one = oneOf([...bound, ...keys]);
      return call("POST", `/devkeys/api-keys/${one.id}/rotate`, { key: one.key });
    },
    () => call("DELETE", `/devkeys/api-keys/${oneOf([...bound, { id: "key_none" }]).id}`),
    async () => {
      const json = { signers: [signerHex()], expires_at: soon(), uses: 100 };
      return kept(tokens, await call("POST", `/devkeys/projects/${oneOf(projects)}/host-invites`, { json }), "token");
    },
    () => {
      const host_id = `host-${Math.floor(Math.random() * 8)}`;
      const json = { token: oneOf([...tokens, "none"]), host_id, ...ownSecrets() };
      return call("POST", "/devkeys/join", { key: null, json });
    },
    () => {
      const host = `host-${Math.floor(Math.random() * 8)}`;
      return call("DELETE", `/devkeys/projects/${oneOf(projects)}/joined-hosts/${host}`);
    },
    () => {
      const [from, host_id] = [1, 2].map(() => `host-${Math.floor(Math.random() * 8)}`);
      return call("PATCH", `/devkeys/projects/${oneOf(projects)}/joined-hosts/${from}`, { json: { host_id } });
    },
    async () => {
      const request = { target: `project:${oneOf(projects)}` };
      return kept(publishers, await workflow.trust(request, oneOf([...keys, ...bound]).key), "id");
    },
    () => call("DELETE", `/devkeys/publishers/${oneOf([...publishers, "pub_none"])}`),
    async () => workflow.exchange(`project:${oneOf(projects)}`, await workflow.run(), oneOf(hubs)),
    async () => workflow.exchange(`project:${oneOf(projects)}`, await workflow.run(), oneOf(hubs)),
    () => call("POST", "/devkeys/webhooks", { key: oneOf(keys).key, json: { url: "https://127.0.0.1:1/" } }),
  ];
  for (let made = 0; made < 4; made++) await addProject();
  const answers = new Map<number, number>();
  let left = CALLS;
  const ask = async (): Promise<void> => {
    while (left-- > 0) {
      const { status } = await oneOf(acts)();
      answers.set(status, (answers.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  t.strictSame(
    // A hub that is overloaded, on a busy machine, says so with 503.
    [...answers].filter(([status]) => status >= 500 && status !== 503),
    [],
    JSON.stringify(Object.fromEntries(answers)),
  );
  t.ok((answers.get(201) ?? 0) > CALLS / 20, "they change something");
}

for (const database of RACED)
  t.test(`${CALLS} changes at once meet in no deadlock, on ${database}`, async (t) => {
    const hubs = await startRacedHubs(t, database, {
      ...{ rateLimits: false, issuerAllow: ["127.0.0.1"], webhookAllow: ["127.0.0.1"] },
    });
    if (hubs === undefined) return t.plan(0, "PostgreSQL is not installed");
    await load(t, hubs);
  });
