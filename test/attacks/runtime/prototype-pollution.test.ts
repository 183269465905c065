import t from "tap";
import { startAttacker } from "../../support/runtime/attacker.ts";
import { actions, KEY, trusted } from "../../support/runtime/host.ts";

const PROTO = `JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"list":[{"__proto__":{"polluted":1}}],"kept":true}')`;

t.test("__proto__ in a result, a request or a payload pollutes nothing and does not travel on", async (t) => {
  const merge = `const merge = (to, from) => { for (const key of Object.keys(from)) { if (typeof from[key] === "object" && from[key]) merge(to[key] ??= {}, from[key]); else to[key] = from[key]; } return to; };`;
  const careless = trusted(
    "careless",
    actions(
      `merge: (payload) => { merge({}, payload); return { polluted: ({}).polluted ?? null, keys: Object.keys(payload) }; }, ask: (_p, c) => c.call("evil", "run", { code: "return ${PROTO.replaceAll("'", "\\'").replaceAll('"', '\\"')}" }).then((result) => { merge({}, result); return ({}).polluted ?? null; })`,
      merge,
    ),
  );
  const host = await startAttacker(t, {
    plugins: { careless },
    descriptor: { permissions: [{ resource: "plugin:careless", actions: ["merge"] }] },
  });
  t.teardown(() => delete (Object.prototype as { polluted?: unknown }).polluted);
  const answer = await host.call("evil", "run", { code: `return ${PROTO}` });
  t.equal(answer.status, 200);
  t.notMatch(answer.text, /__proto__/);
  t.match(answer.text, /"kept":true/);
  const escaped = await host.call("evil", "run", { code: `return JSON.parse('{"\\\\u005f_proto__":{"polluted":1}}')` });
  t.notMatch(escaped.text, /proto__/);
  const relayed = (await host.attack(
    `return context.call("careless", "merge", { ["__proto__"]: { polluted: 1 }, ...${PROTO} })`,
  )) as { done: { polluted: unknown } };
  t.equal(relayed.done.polluted, null);
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
  const posted = await host.request("POST", "/plugin/ipc/careless/merge", {
    headers: { "x-plugin-key": KEY, "content-type": "application/json" },
    body: '{"payload":{"__proto__":{"polluted":1}}}',
  });
  t.match(posted, { status: 400, body: { code: "bad_json" } });
});

t.test("a plugin that patches its own realm changes nothing in the runtime's", async (t) => {
  const host = await startAttacker(t);
  await host.attack(
    `Object.prototype.polluted = 1; Array.prototype.map = () => "mine"; JSON.parse = () => ({ polluted: 1 }); return 1`,
  );
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
  t.equal(await host.result("victim", "alive"), "alive");
  t.equal((await host.system("GET", "/plugin/ipc/status")).status, 200);
});
