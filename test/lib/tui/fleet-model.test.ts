import fc from "fast-check";
import t from "tap";
import type { FleetHost } from "../../../lib/client/fleet.ts";
import { troubleOf } from "../../../lib/contract/surfaces/host-record.ts";
import { detailText } from "../../../lib/tui/detail-view.tsx";
import { FleetModel, type FleetQuery } from "../../../lib/tui/fleet-model.ts";

const ALL: FleetQuery = { search: "", filter: "all", latest: null };

const host = (
  id: string,
  version: string,
  status: FleetHost["status"] = "success",
  error: string | null = null,
): FleetHost => ({
  host_id: id,
  version,
  status,
  error_message: error,
  completed_at: "2026-11-20T12:00:00Z",
});

const hosts = fc.uniqueArray(
  fc.record({
    host_id: fc.stringMatching(/^[a-z0-9-]{1,12}$/),
    version: fc.constantFrom("1.0.0", "1.1.0", "2.0.0"),
    status: fc.constantFrom("success" as const, "failed" as const, "rolled_back" as const),
  }),
  { selector: ({ host_id: id }) => id, maxLength: 60 },
);

t.test("changes one by one give what reading everything anew gives", async () => {
  fc.assert(
    fc.property(hosts, hosts, (first, changed) => {
      const grown = new FleetModel();
      grown.apply(first.toSorted((a, b) => (a.host_id < b.host_id ? -1 : 1)));
      for (const change of changed) grown.apply([change]);
      const merged = new Map([...first, ...changed].map((each) => [each.host_id, each]));
      const whole = new FleetModel();
      whole.apply([...merged.values()].toSorted((a, b) => (a.host_id < b.host_id ? -1 : 1)));
      const seen = (model: FleetModel) => ({
        rows: model.rows(ALL).map(({ id, version, status }) => ({ id, version, status })),
        versions: model.versions().toSorted((a, b) => (a.version < b.version ? -1 : 1)),
        size: model.size,
        failing: model.failing,
      });
      return JSON.stringify(seen(grown)) === JSON.stringify(seen(whole));
    }),
  );
});

t.test("failing hosts come first, then all in host-id order", async (t) => {
  const fleet = new FleetModel();
  fleet.apply([host("a", "1"), host("b", "1", "failed"), host("c", "1"), host("d", "1", "rolled_back")]);
  t.equal(
    fleet
      .rows(ALL)
      .map(({ id }) => id)
      .join(""),
    "bdac",
  );
  t.equal(fleet.failing, 2);
});

t.test("versions count what runs, and a failed try stands beside it", async (t) => {
  const fleet = new FleetModel();
  fleet.apply([
    host("a", "1.1.0"),
    { ...host("b", "1.3.0", "failed", "no signature"), running_version: "1.1.0" },
    { ...host("c", "1.2.0", "rolled_back"), running_version: "1.1.0" },
    { ...host("d", "1.3.0", "failed"), running_version: null },
    host("e", "1.3.0", "failed", "from an old agent"),
  ]);
  t.same(
    fleet.versions().map(({ version, hosts, failing }) => [version, hosts, failing]),
    [
      ["1.1.0", 3, 2],
      ["none", 1, 1],
      ["1.3.0 (failed)", 1, 1],
    ],
  );
  const rows = new Map(fleet.rows(ALL).map((row) => [row.id, [row.version, troubleOf(row)]]));
  t.same(Object.fromEntries(rows), {
    a: ["1.1.0", ""],
    b: ["1.1.0", "1.3.0 failed: no signature"],
    c: ["1.1.0", "1.2.0 failed"],
    d: ["none", "1.3.0 failed"],
    e: ["1.3.0 (failed)", "from an old agent"],
  });
  t.same(
    fleet.rows({ ...ALL, filter: "not latest", latest: "1.1.0" }).map(({ id }) => id),
    ["d", "e"],
  );
  t.same(
    fleet.rows({ ...ALL, search: "1.2.0" }).map(({ id }) => id),
    ["c"],
    "a tried version is found",
  );
});

t.test("search looks at ids, versions, statuses and errors, and filters add to it", async (t) => {
  const fleet = new FleetModel();
  fleet.apply([
    host("edge-1", "1.0.0"),
    host("edge-2", "1.1.0", "failed", "Out of DISK space"),
    host("core-1", "1.1.0"),
  ]);
  const found = (query: Partial<FleetQuery>) => fleet.rows({ ...ALL, ...query }).map(({ id }) => id);
  t.strictSame(found({ search: "EDGE" }), ["edge-2", "edge-1"]);
  t.strictSame(found({ search: "disk" }), ["edge-2"]);
  t.strictSame(found({ search: "1.1" }), ["edge-2", "core-1"]);
  t.strictSame(found({ filter: "failing" }), ["edge-2"]);
  t.strictSame(found({ filter: "not latest", latest: "1.1.0" }), ["edge-2", "edge-1"]);
  t.strictSame(found({ search: "edge", filter: "not latest", latest: "1.1.0" }), ["edge-2", "edge-1"]);
  fleet.apply([host("edge-1", "1.1.0")]);
  t.strictSame(found({ filter: "not latest", latest: "1.1.0" }), ["edge-2"], "a change is seen by the next query");
});

t.test("an error's text cannot drive the terminal, nor fill the memory", async (t) => {
  const fleet = new FleetModel();
  fleet.apply([host("a", "1", "failed", `\u001b[2Jboom\n${"x".repeat(10_000)}`)]);
  const [row] = fleet.rows(ALL);
  t.match(row?.error, /^boom x+$/);
  t.equal(row?.error?.length, 300);
});

t.test("hosts are ordered by name, version or last report when that is asked for", async (t) => {
  const model = new FleetModel();
  const given = [host("a", "1.10.0"), host("b", "1.9.0", "failed"), host("c", "1.10.0"), host("d", "1.9.0")];
  model.apply(given.map((each, index) => ({ ...each, completed_at: `2026-11-2${index}T12:00:00Z` })));
  const ids = (order: FleetQuery["order"]): string =>
    model
      .rows({ ...ALL, ...(order !== undefined && { order }) })
      .map(({ id }) => id)
      .join("");
  t.equal(ids(undefined), "bacd");
  t.equal(ids("failing"), "bacd");
  t.equal(ids("name"), "abcd");
  t.equal(ids("report"), "dcba");
  t.same(
    model.rows({ ...ALL, order: "version" }).map(({ version }) => version),
    ["1.9.0", "1.9.0 (failed)", "1.10.0", "1.10.0"],
  );
});

t.test("the details name the signer of what each host runs, in full", async (t) => {
  const fleet = new FleetModel();
  const signer = "5d".repeat(32);
  fleet.apply([
    { ...host("a", "1"), running_signer: signer },
    { ...host("b", "1", "failed", "full disk"), running_signer: null },
    host("c", "1"),
  ]);
  const model = { history: [], events: [] };
  const order: FleetQuery = { ...ALL, order: "name" };
  const subject = { target: undefined, tab: "fleet", model, hosts: fleet.rows(order), now: 0 } as const;
  const texts = detailText(subject)
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf(": ") + 2));
  t.strictSame(texts, [`no error; signed by ${signer}`, "full disk; no signer was demanded", "no error"]);
});
