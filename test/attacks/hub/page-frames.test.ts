// Holds: policies of pages (lib/support/network/content-security.ts)
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("no page, failure or way on can be shown in a frame of another site", async (t) => {
  const hub = await startHub(t);
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const answers = [
    ...["/", "/keys", "/hub", "/plugins/none", "/sign-in"].map((path) => admin.request(path)),
    ...["/", "/sign-in", "/plugins/none", "/live/fleets"].map((path) => new Visitor(hub.url).request(path)),
    admin.request("/keys/none/revoke", { method: "POST", body: new URLSearchParams() }),
  ];
  for (const { status, headers } of await Promise.all(answers)) {
    t.match(headers.get("content-security-policy"), /frame-ancestors 'none'/, String(status));
    t.equal(headers.get("x-frame-options"), "DENY");
    t.equal(headers.get("cross-origin-resource-policy"), "same-origin");
    t.equal(headers.get("cross-origin-opener-policy"), "same-origin");
    t.equal(headers.get("access-control-allow-origin"), null);
  }
});
