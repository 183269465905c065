// Holds: what npm run check runs, and in which order (scripts/nearest-tests.ts, scripts/wings.ts)
/** Rules that the architecture's page names have a test that says so, and `npm run check` begins with it. */
import { existsSync, globSync, readFileSync } from "node:fs";
import t from "tap";
import { heldBy, nearestTests, startsPrograms } from "../../scripts/nearest-tests.ts";
import { WINGS } from "../../scripts/wings.ts";
import { readPage } from "../support/docs/pages.ts";

const held = new Set(globSync("test/**/*.test.{ts,tsx}").flatMap(heldBy));

t.test("every rule of the page is held by a test that names its file", async (t) => {
  const [, table = ""] = readPage("docs/architecture.md").split("## Where a rule is decided");
  const rows = table
    .split("\n## ")[0]!
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(2);
  t.ok(rows.length > 20);
  for (const row of rows) {
    const files = row.match(/lib\/[\w./-]+\.ts/g) ?? [];
    t.ok(files.length > 0 && files.every((file) => held.has(file)), row.replaceAll(/ +/g, " "));
  }
});

t.test("what a test says that it holds is there", async (t) => {
  for (const path of held) t.ok(existsSync(path), path);
});

t.test("a change is checked first by the tests that hold its rule, then by the nearest", async (t) => {
  const { holding, reaching } = nearestTests(["lib/hub/features/staging/records.ts"]);
  t.strictSame(holding, ["test/attacks/publishing/approval-matrix.test.ts"]);
  t.ok(reaching.length > 10 && !reaching.some((test) => holding.includes(test)));
  const pages = ["test/docs/links.test.ts", "test/docs/sentences.test.ts"];
  t.strictSame(nearestTests(["README.md"]), { edited: [], holding: pages, reaching: [] });
  const [own] = pages;
  t.strictSame(nearestTests([own!, "docs/hub.md"]), { edited: [own], holding: pages.slice(1), reaching: [] });
});

t.test("rooms have tests that hold their rules", async (t) => {
  const rooms = ["agent/health", "apps", "agent/applications", "artifact/trust", "hub/features/webhooks", "hub/access"];
  for (const room of rooms) t.ok([...held].filter((path) => path.startsWith(`lib/${room}/`)).length > 1, room);
  const named = globSync("test/**/*.test.{ts,tsx}").filter((test) => /^\/\/ Holds:/m.test(readFileSync(test, "utf8")));
  for (const test of named) t.not(heldBy(test).length, 0, `${test} names what it holds in brackets`);
});

t.test("only tests of programs wait for a build", async (t) => {
  t.ok(startsPrograms("test/commands/app-init.test.ts"));
  t.notOk(startsPrograms("test/lib/apps/listening.test.ts"));
});

t.test("rooms import of their own wing, or of one that it stands on", async (t) => {
  const wings = Object.entries<{ on: readonly string[]; rooms: Record<string, readonly string[]> }>(WINGS);
  const wingOf = new Map(wings.flatMap(([wing, { rooms }]) => Object.keys(rooms).map((room) => [room, wing])));
  t.strictSame(
    [...wingOf.keys()].toSorted(),
    globSync("lib/*")
      .map((path) => path.slice("lib/".length))
      .toSorted(),
  );
  for (const [wing, { on, rooms }] of wings)
    for (const [room, imports] of Object.entries(rooms))
      for (const other of imports) {
        const target = wingOf.get(other.split("/")[0]!);
        t.ok(target === wing || on.includes(target!), `${room} may import ${other}`);
      }
});
