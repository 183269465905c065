// Holds: how often somebody may ask (lib/hub/access/rate-limits.ts)
import { randomBytes } from "node:crypto";
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";

t.test("who invents a key for each request is limited, also where the request's fields are wrong", async (t) => {
  const hub = await startHub(t, { rateLimits: { requestsPerMinute: 60, failuresPerMinute: 5 } });
  const invented = () => ({ key: `slk_${randomBytes(32).toString("base64url")}` });
  let asked = 0;
  // What is counted begins anew with each minute, perhaps in the middle: twice as many reach the limit in any case.
  for (let status = 422; status === 422 && asked < 220; asked++)
    ({ status } = await hub.call("POST", "/devkeys/publishers", { ...invented(), json: {} }));
  t.ok(asked > 90 && asked < 220, `the limit came at request ${asked}`);
  const right = await hub.call("GET", "/devkeys/key");
  t.equal(right.status, 200, "good keys of the same address go on working");
});
