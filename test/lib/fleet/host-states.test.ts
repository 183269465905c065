// Holds: what is shown of the settings of a fleet (lib/fleet/host-states.ts)
import t from "tap";
import { hostStatesOf } from "../../../lib/fleet/host-states.ts";
import { judgedFleet } from "../../support/hub/judged-fleet.ts";

const ignored = [{ name: "web.A", code: "settings_undeclared" }];

t.test("what a host says counts for the document that it was given last", async (t) => {
  const { judged, roll } = await judgedFleet(t, {
    a: { said: { ignored } },
    b: { said: { state: "failed", code: "unhealthy" } },
    c: { said: null },
    d: { said: { number: 2, state: "failed", code: "unhealthy", ignored } },
    e: { said: { digest: "ee".repeat(32), ignored } },
    f: { roll: { number: 0, document: undefined, content: undefined }, hub: null, said: null },
  });
  t.strictSame(
    hostStatesOf(judged, roll).map((one) => [
      one.host_id,
      one.state,
      one.code,
      one.number,
      one.said,
      one.ignored.length,
    ]),
    [
      ["a", "applied", null, 3, 3, 1],
      ["b", "failed", "unhealthy", 3, 3, 0],
      ["c", "waits", null, 3, null, 0],
      ["d", "waits", null, 3, 2, 0],
      ["e", "waits", null, 3, 3, 0],
      ["f", "none", null, 0, null, 0],
    ],
  );
});

t.test("labels of the hub are shown where they are others, whatever their order", async (t) => {
  const labels = { env: "prod", site: "north" };
  const { judged, roll } = await judgedFleet(t, {
    a: { roll: { labels } },
    b: { roll: { labels } },
    c: { roll: { labels } },
  });
  const theirs = new Map<string, Record<string, string>>([
    ["a", { site: "north", env: "prod" }],
    ["b", { env: "prod" }],
  ]);
  t.strictSame(
    hostStatesOf(judged, roll, theirs).map(({ hub_labels: shown }) => shown),
    [null, { env: "prod" }, null],
  );
  t.match(hostStatesOf([], roll), [{ host_id: "a", state: "absent" }, { state: "absent" }, { state: "absent" }]);
});
