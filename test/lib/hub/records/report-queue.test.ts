import t, { type Test } from "tap";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import type { FleetKey } from "../../../../lib/hub/records/fleet.ts";
import { storeProjectReport } from "../../../../lib/hub/records/received-reports.ts";
import { ReportQueue } from "../../../../lib/hub/records/report-queue.ts";

async function open(t: Test) {
  const transactions: string[] = [];
  const database = await openDatabase({
    hooks: FEATURES,
    dataDir: t.testdir(),
    onStatement: (text) => text.startsWith('insert into "reports"') && transactions.push(text),
  });
  t.teardown(() => database.close());
  const views: FleetKey[] = [];
  const queue = new ReportQueue(database.kysely, true, (view) => views.push(view));
  const report = (host_id: string, facts: object = {}, keyHost: string | null = null) =>
    storeProjectReport(
      queue,
      {
        ...{ project_id: "prj_1", deployment_id: "", status: "success", version: "1.0.0", plugins: [], host_id },
        ...{ started_at: "", completed_at: "", ...facts },
      },
      { now: Date.now(), named: undefined, keyHost },
    );
  const hosts = async () => {
    const rows = await database.kysely.selectFrom("hosts").selectAll().orderBy("change").execute();
    return rows.map(({ host_id, change, record }) => {
      const { version, status, running_version } = JSON.parse(record) as Record<string, unknown>;
      return { host_id, change: Number(change), version, status, running_version };
    });
  };
  const changes = async () =>
    Number((await database.kysely.selectFrom("views").selectAll().executeTakeFirst())?.changes);
  return { database, transactions, views, report, hosts, changes };
}

t.test("a host that its own key has reported is reported by no other one, nor are reports with it lost", async (t) => {
  const { report, hosts, changes } = await open(t);
  await report("mine", { version: "0.9.0" });
  const answers = await Promise.allSettled([
    report("other"),
    report("mine", {}, "mine"),
    report("mine", { version: "2.0.0" }),
    report("more"),
  ]);
  t.match(answers, [
    { status: "fulfilled" },
    { status: "fulfilled" },
    { status: "rejected", reason: { statusCode: 403, code: "other_host", message: /^The host mine is reported by/ } },
    { status: "fulfilled" },
  ]);
  t.match(await hosts(), [
    { host_id: "other", version: "1.0.0" },
    { host_id: "mine", version: "1.0.0" },
    { host_id: "more", version: "1.0.0" },
  ]);
  t.equal(await changes(), 4);
  await t.rejects(report("mine", { version: "2.0.0" }), { code: "other_host" });
  await report("mine", { version: "2.0.0" }, "mine");
  t.match((await hosts()).at(-1), { host_id: "mine", version: "2.0.0" });
});

t.test("reports that come together are stored together, and each is one change of its view", async (t) => {
  const { transactions, views, report, hosts, changes } = await open(t);
  const names = Array.from({ length: 300 }, (_, index) => `host-${index}`);
  await Promise.all(names.map((name) => report(name)));
  t.equal(views.length, transactions.length, "features hear of each transaction");
  t.strictSame(views[0], { holder: "", target: "prj_1" });
  t.equal(await changes(), 300);
  t.strictSame(
    (await hosts()).map(({ host_id, change }) => [host_id, change]),
    names.map((name, index) => [name, index + 1]),
  );
  t.ok(transactions.length < 20, `${transactions.length} transactions`);
});

t.test("several reports of one host that come together leave what they would one by one", async (t) => {
  const { report, hosts, changes } = await open(t);
  await report("a", { version: "1.0.0" });
  await Promise.all([
    report("first of its transaction"),
    report("a", { version: "1.1.0", deployment_id: "same" }),
    report("b", { version: "1.1.0", status: "failed" }),
    report("a", { version: "1.1.0", deployment_id: "same" }),
    report("a", { version: "1.2.0", status: "failed" }),
    report("b", { version: "1.2.0", status: "failed", running_version: "0.9.0" }),
    report("b", { version: "1.3.0", status: "failed" }),
  ]);
  t.equal(await changes(), 7, "the same deployment counts once");
  const success = { version: "1.0.0", status: "success", running_version: "1.0.0" };
  t.strictSame(await hosts(), [
    { host_id: "first of its transaction", change: 2, ...success },
    { host_id: "a", change: 5, version: "1.2.0", status: "failed", running_version: "1.1.0" },
    { host_id: "b", change: 7, version: "1.3.0", status: "failed", running_version: "0.9.0" },
  ]);
});

t.test("a report that cannot be stored fails alone", async (t) => {
  const { report, hosts } = await open(t);
  const outcomes = await Promise.allSettled([
    report("a"),
    report("b"),
    report("c", { version: null }),
    report("d"),
    report("e"),
  ]);
  t.strictSame(
    outcomes.map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected", "fulfilled", "fulfilled"],
  );
  t.strictSame(
    (await hosts()).map(({ host_id }) => host_id),
    ["a", "b", "d", "e"],
  );
});

t.test("reports that are large are not held together in one statement", async (t) => {
  const { transactions, report, changes } = await open(t);
  const plugins = Array.from({ length: 1000 }, (_, index) => ({ slug: `plugin-${index}`, note: "n".repeat(400) }));
  await Promise.all(Array.from({ length: 9 }, (_, index) => report(`host-${index}`, { plugins })));
  t.equal(await changes(), 9);
  t.equal(transactions.length, 5, "the first, and four times two");
});

t.test("a view takes so many reports at once, and asks the others to come later", async (t) => {
  const { report } = await open(t);
  const outcomes = await Promise.allSettled(Array.from({ length: 2100 }, (_, index) => report(`host-${index}`)));
  const refused = outcomes.filter(({ status }) => status === "rejected");
  t.ok(refused.length > 0 && refused.length <= 100, `${refused.length} refused`);
  for (const { reason } of refused as PromiseRejectedResult[]) t.match(reason, { trouble: "away" });
});
