// Only in test:all: a hub under more load than it can bear.
import t from "tap";
import { runLoad } from "../../scripts/load/run.ts";

const AGENTS = 200;

t.test("a fleet behind one address passes three session hours without an error, and takes a version", async (t) => {
  const { errors, updated, requests, hubMb, hubTimes, generator } = await runLoad({
    agents: AGENTS,
    workers: 2,
    intervalMs: 1000,
    durationMs: 6000,
    hours: 3,
    folder: t.testdir(),
  });
  t.strictSame(errors, {});
  t.equal(updated, AGENTS);
  const countOf = (wanted: string, answer: string) =>
    requests
      .filter(({ operation, status }) => operation === wanted && status === answer)
      .reduce((sum, { count }) => sum + count, 0);
  const sessions = countOf("session", "200");
  t.ok(sessions >= 2 * AGENTS, `${sessions} sessions: each agent renewed its own`);
  t.ok(countOf("poll", "304") >= AGENTS);
  for (const operation of ["location", "authorize", "download", "report"])
    t.equal(countOf(operation, "200"), 2 * AGENTS, operation);
  // A session may end while a poll is on its way; the agent opens another one.
  const answers = requests.filter(({ operation, status }) => operation !== "poll" || status !== "401");
  t.strictSame(
    answers.filter(({ status }) => !["200", "201", "304"].includes(status)),
    [],
  );
  t.ok(hubMb! < 300, `${hubMb} MB`);
  // The hub has counted what the fleet has sent.
  const reports = hubTimes!.filter(({ operation }) => operation === "report");
  const counted = reports.reduce((sum, { count }) => sum + count, 0);
  t.equal(counted, countOf("report", "200"));
  for (const phase of ["start", "release"]) t.ok(reports.some((times) => times.phase === phase));
  for (const { p50, p99 } of reports) t.ok(p50 <= p99 && p50 > 0);
  t.ok(hubTimes!.some(({ phase, operation }) => phase === "hours" && operation === "poll"));
  t.ok(generator.utilization > 0 && generator.delayP99Ms >= 0);
});
