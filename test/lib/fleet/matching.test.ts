// Holds: which entries of a fleet.yaml apply to which hosts (lib/fleet/matching.ts)
import t from "tap";
import type { FleetEntry, HostMatch } from "../../../lib/contract/files/fleet.ts";
import { applies, matchedHosts } from "../../../lib/fleet/matching.ts";
import type { Enrolled } from "../../../lib/fleet/roll.ts";

const host = (name: string, labels: Record<string, string> = {}, named = true) => ({ name, labels, named }) as Enrolled;
const HOSTS = [
  host("pier-7", { env: "prod" }),
  host("pier-8", { env: "test" }),
  host("quay-1", { env: "prod" }, false),
];
const matched = (...settings: FleetEntry[]) => matchedHosts({ file: "fleet.yaml", settings }, HOSTS);
const entry = (match: object): FleetEntry => ({ match: match as HostMatch, apps: { web: { A: "one" } } });

t.test("an entry applies to hosts with all of its labels and one of its names", (t) => {
  for (const [match, expected] of [
    [{}, ["pier-7", "pier-8", "quay-1"]],
    [{ env: "prod" }, ["pier-7", "quay-1"]],
    [{ hosts: ["pier-8"] }, ["pier-8"]],
    [{ hosts: ["pier-7", "pier-8"], env: "test" }, ["pier-8"]],
    [{ hosts: ["quay-1"] }, []],
    [{ env: "prod", site: "north" }, []],
  ] as const)
    t.strictSame(
      HOSTS.filter((each) => applies(match as HostMatch, each)).map(({ name }) => name),
      expected,
      JSON.stringify(match),
    );
  t.end();
});

t.test("names and labels that no host has are refused, with what was meant", (t) => {
  for (const [match, message] of [
    [{ hosts: ["pier-9"] }, /settings\.0\.match\.hosts: no host is called pier-9; did you mean pier-7/],
    [{ envs: "prod" }, /settings\.0\.match\.envs: no host has such a label; did you mean env\?/],
    [{ hosts: ["quay-1"] }, /quay-1 came with an invite for several hosts/],
  ] as const)
    t.throws(() => matched(entry(match)), { code: "config_invalid", message });
  t.end();
});

t.test("hosts to which the same entries apply are one group, and entries for nobody are named", (t) => {
  t.strictSame(matched(entry({ hosts: ["pier-7"] })).idle, []);
  const { groups, idle } = matched(entry({}), entry({ env: "prod" }), entry({ env: "prd" }));
  t.strictSame(
    groups.map(({ hosts, entries }) => [hosts.map(({ name }) => name), entries.map(({ at }) => at)]),
    [
      [
        ["pier-7", "quay-1"],
        [0, 1],
      ],
      [["pier-8"], [0]],
    ],
  );
  t.match(idle, [
    { text: /^settings\.2 applies to no host: no host has env=prd; did you mean prod\?$/, names: ["web.A"] },
  ]);
  t.equal(idle.length, 1);
  t.end();
});
