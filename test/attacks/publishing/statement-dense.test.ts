// In a process of its own: it measures the time of its thread.
// Holds: a large SBOM is read on a thread (lib/hub/features/statements/bill-thread.ts)
import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { billOf, endorsed, state, statedProject } from "../../support/hub/statements.ts";

/** Seconds of the hub's own thread for one document: to read it there takes twice as long. */
const MOST_SECONDS = 0.6;

t.test("an SBOM of millions of values takes the hub's thread no time to read", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const stated = await statedProject(hub);
  const dense = Buffer.from(`{"bomFormat":"CycloneDX","specVersion":"1.6","x":[${"[],".repeat(5_000_000)}[]]}`);
  const signed = endorsed(stated, "sbom", dense);
  const { user: before } = process.threadCpuUsage();
  const sending = state(stated, "sbom", dense, signed);
  t.equal((await hub.call("GET", "/healthz", { key: null })).status, 200);
  t.equal((await sending).status, 201, "it is CycloneDX after all");
  const seconds = (process.threadCpuUsage().user - before) / 1e6;
  t.ok(seconds < MOST_SECONDS, `${seconds.toFixed(1)} s`);
});

t.test("a large SBOM with components is read as a small one is", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const stated = await statedProject(hub);
  const many = Array.from({ length: 10_000 }, (_, n) => ({ name: `package-${n}`, version: "1.0.0" }));
  const bill = Buffer.from(billOf(many));
  t.ok(bill.length > 256 * 1024);
  const answer = await state(stated, "sbom", bill, endorsed(stated, "sbom", bill));
  t.equal(answer.status, 201, JSON.stringify(answer.body));
  const broken = Buffer.concat([bill, Buffer.from("]")]);
  isErrorBody(t, await state(stated, "sbom", broken, endorsed(stated, "sbom", broken)), 422, "statement_invalid");
});
