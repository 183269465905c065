/** A trust root whose numbers are texts, or so large that readers round them. */
import t from "tap";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";

t.test("a version is a whole number from 1 to 2^31 - 1, written as a number", async (t) => {
  const hub = await startHub(t);
  const { id: project } = await createProject(hub);
  const text = rootChain().version(1, [heldKey()]);
  for (const written of [
    ...['"1"', '"01"', "true", "null", "[1]", "{}", "0", "-1", "-0", "1.5", "2147483648", "4294967297"],
    ...[
      "9007199254740991",
      "9007199254740992",
      "9007199254740993",
      "1e16",
      "1e400",
      "-1e400",
      "01",
      "0x1",
      "+1",
      "1_0",
      "1e0",
      "1E+0",
      "1.0",
      "10e-1",
      `0.${"9".repeat(40)}`,
    ],
  ])
    await isRefusedRoot(t, hub, project, text.replace('"version":1', `"version":${written}`), written);
  for (const [field, value] of [
    ["consistent_snapshot", '"false"'],
    ["consistent_snapshot", "0"],
    ["spec_version", "1"],
    ["expires", "2082758400"],
    ["expires", '"2036-01-01T00:00:00.000Z"'],
    ["expires", '"2036-02-31T00:00:00Z"'],
    ["expires", '"0000-01-01T00:00:00Z"'],
  ] as const) {
    const forged = text.replace(new RegExp(`"${field}":(?:"[^"]*"|\\w+)`), `"${field}":${value}`);
    t.not(forged, text);
    await isRefusedRoot(t, hub, project, forged, `${field}: ${value}`);
  }
  await isRefusedRoot(t, hub, project, text.replace('"threshold":2', '"threshold":2.0'), "threshold: 2.0");
});
