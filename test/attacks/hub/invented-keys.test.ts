// Holds: how often somebody may ask (lib/hub/access/rate-limits.ts)
// Holds: a wrong key learns nothing about its body (lib/hub/access/add-routes.ts)
import { randomBytes } from "node:crypto";
import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";

t.test("who invents a key for each request is limited, also where the request's fields are wrong", async (t) => {
  const hub = await startHub(t, { rateLimits: { requestsPerMinute: 60, failuresPerMinute: 5 } });
  const invented = () => ({ key: `slk_${randomBytes(32).toString("base64url")}` });
  let asked = 0;
  // What is counted begins anew with each minute, perhaps in the middle: twice as many reach the limit in any case.
  for (let status = 401; status === 401 && asked < 220; asked++)
    ({ status } = await hub.call("POST", "/devkeys/publishers", { ...invented(), json: {} }));
  t.ok(asked > 90 && asked < 220, `the limit came at request ${asked}`);
  const right = await hub.call("GET", "/devkeys/key");
  t.equal(right.status, 200, "good keys of the same address go on working");
});

t.test("a key that is wrong or has expired is refused before anything is said of its body", async (t) => {
  let now = Date.parse("2026-03-01T00:00:00Z");
  const hub = await startHub(t, { clock: () => now, rateLimits: false });
  const made = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "short", scopes: ["keys"], expires_at: new Date(now + 60_000).toISOString() },
  });
  const key = made.body.key as string;
  const bodies = [
    { json: {}, refused: 422 },
    { body: "name: x", headers: { "content-type": "text/yaml" }, refused: 415 },
    { body: "{", headers: { "content-type": "application/json" }, refused: 400 },
  ];
  for (const { refused, ...sent } of bodies) {
    t.equal((await hub.call("POST", "/devkeys/api-keys", { ...sent, key })).status, refused, "a live key is told");
    isErrorBody(t, await hub.call("POST", "/devkeys/api-keys", { ...sent, key: "slk_wrong" }), 401, "key_rejected");
  }
  now += 61_000;
  for (const { refused: _, ...sent } of bodies)
    isErrorBody(t, await hub.call("POST", "/devkeys/api-keys", { ...sent, key }), 401, "key_rejected");
});
