import { join } from "node:path";
import t from "tap";
import { lookAgainAt } from "../../../../lib/agent/deployment/policy.ts";
import { readHeld, writeHeld } from "../../../../lib/releases/holds.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { installed, policyHost } from "../../../support/host/policy-host.ts";
import { watching } from "../../../support/host/watching.ts";

const SECOND = 1000;
const AN_HOUR = 3600 * SECOND;
const refused = { outcome: "failed", code: "policy_refused" } as const;

t.test("a version is held until its statement comes, and is looked at again within seconds", async (t) => {
  const h = await policyHost(t);
  await h.publish("1.0.0");
  const w = watching(t, [await h.target("sbom: true\n", AN_HOUR)]);
  await w.until("deploy.done", refused);
  t.match(await w.until("target.held", { reason: "policy" }), { version: "1.0.0", message: /rule sbom/ });
  const { at, held, failures } = await w.until("check.scheduled");
  t.strictSame([held, failures], ["policy", 0]);
  const wait = Date.parse(at) - Date.now();
  t.ok(wait > 3 * SECOND && wait < 9 * SECOND, `the next look is in ${wait} ms`);
  await h.state("1.0.0", { sbom: true });
  t.match(await w.until("deploy.done", { version: "1.0.0" }), { outcome: "deployed" }, "without anybody's request");
  t.equal(await installed(h.folder), "1.0.0");
  t.ok(Date.parse((await w.until("check.scheduled")).at) - Date.now() > AN_HOUR / 2, "then checks are as usual");
  await w.stop();
});

t.test("checks in between do not ask the policy, a person's check does, and so does another policy", async (t) => {
  const h = await policyHost(t);
  await h.publish("1.0.0");
  const w = watching(t, [await h.target("sbom: true\n", 20)]);
  const attempts = () => w.all("deploy.done").length;
  await w.until("deploy.done", refused);
  for (let checks = 0; checks < 4; checks++) await w.until("check.scheduled");
  t.equal(attempts(), 1, "it is not looked at again before its time");
  t.equal(w.all("target.held").length, 1, "and it is said once");

  await h.state("1.0.0", { sbom: true });
  await w.watch.act("project:Demo", "check");
  t.match(await w.until("deploy.done"), { outcome: "deployed", version: "1.0.0" }, "a person's check asks at once");

  await h.publish("1.1.0");
  await w.until("deploy.done", { ...refused, version: "1.1.0" });
  await w.until("check.scheduled");
  await w.watch.replace([await h.target("min_age: 24h\n", AN_HOUR)]);
  await w.until("deploy.done", refused);
  t.match(
    await w.until("target.held"),
    { reason: "policy", message: /rule min_age/ },
    "another policy is asked at once",
  );
  await w.until("check.scheduled");
  await w.watch.replace([await h.target(undefined, AN_HOUR)]);
  t.match(await w.until("deploy.done"), { outcome: "deployed", version: "1.1.0" }, "without a policy nothing waits");
  await w.stop();
});

t.test("a newer version that meets the policy is taken while another one is held", async (t) => {
  const h = await policyHost(t);
  await h.publish("1.0.0");
  const w = watching(t, [await h.target("sbom: true\n", AN_HOUR)]);
  await w.until("target.held", { reason: "policy", version: "1.0.0" });
  await h.publish("1.1.0");
  await h.state("1.1.0", { sbom: true });
  await w.watch.act("project:Demo", "check");
  t.match(await w.until("deploy.done"), { outcome: "deployed", version: "1.1.0" });
  await w.stop();
});

t.test("a refusal from a time when the clock was hours ahead is looked at again at once", async (t) => {
  const h = await policyHost(t);
  await h.publish("1.0.0");
  const w = watching(t, [await h.target("sbom: true\n", 20)]);
  await w.until("deploy.done", refused);
  await w.until("check.scheduled");
  const target = `project-${h.projectId}` as const;
  const layout = layoutOf(join(h.folder, "root"));
  const held = await readHeld(layout, target, "policy");
  const ahead = (time: string) => new Date(Date.parse(time) + 6 * AN_HOUR).toISOString();
  await h.state("1.0.0", { sbom: true });
  await writeHeld(layout, target, "policy", { ...held!, at: ahead(held!.at), again: ahead(held!.again) });
  t.match(await w.until("deploy.done"), { outcome: "deployed", version: "1.0.0" });
  await w.stop();
});

t.test("looks come after 5 seconds, then after twice as long each time, up to ten minutes", (t) => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const waits: number[] = [];
  for (let before: Parameters<typeof lookAgainAt>[2], at = now; waits.length < 9; at = Date.parse(before.again)) {
    const again = lookAgainAt(at, undefined, before);
    before = { at: new Date(at).toISOString(), again };
    waits.push((Date.parse(again) - at) / SECOND);
  }
  t.strictSame(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600]);
  const from = (seconds: number) => new Date(now + seconds * SECOND).toISOString();
  t.equal(lookAgainAt(now, from(60), undefined), from(60), "a version that is too young, when it is old enough");
  t.equal(lookAgainAt(now, from(86_400), undefined), from(600), "its signer may call it urgent before");
  t.end();
});
