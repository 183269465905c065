// Holds: how often somebody may ask (lib/hub/access/rate-limits.ts)
import { randomBytes } from "node:crypto";
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";

t.test("who invents a key for each request is limited, also where the request's fields are wrong", async (t) => {
  const hub = await startHub(t, { rateLimits: { requestsPerMinute: 60, failuresPerMinute: 5 } });
  const invented = () => ({ key: `slk_${randomBytes(32).toString("base64url")}` });
  const statuses: number[] = [];
  for (let asked = 0; asked < 110; asked++)
    statuses.push((await hub.call("POST", "/devkeys/publishers", { ...invented(), json: {} })).status);
  t.strictSame([...new Set(statuses.slice(0, 90))], [422]);
  t.equal(statuses.at(-1), 429);
  const right = await hub.call("GET", "/devkeys/key");
  t.equal(right.status, 200, "good keys of the same address go on working");
});
