// Only in test:all: it starts the built hub and dozens of hosts.
import t from "tap";
import { runSettingsLoad } from "../../scripts/load/settings-run.ts";

const HOSTS = 40;
/** Goal for 1,000 hosts (docs/performance.md#hubs-with-many-hosts). */
const MOST_REQUESTS = 5;

t.test("hosts have their settings after few requests each, and nothing fails on the way", async (t) => {
  const { applies, errors } = await runSettingsLoad({ hosts: HOSTS, applies: 2, folder: t.testdir() });
  t.strictSame(errors, {});
  for (const { code, applied, requests, stderr } of applies) {
    t.equal(code, 0, stderr);
    t.equal(applied, HOSTS);
    t.ok(requests.most <= MOST_REQUESTS, `${requests.most} requests of one host`);
  }
});
