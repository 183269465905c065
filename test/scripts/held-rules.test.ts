// Holds: what npm run check runs, and in which order (scripts/nearest-tests.ts, scripts/wings.ts)
// Holds: tests that type a command are near to it (scripts/typed-commands.ts, scripts/pages-naming.ts)
/** Rules that the architecture's page names have a test that says so, and `npm run check` begins with it. */
import { existsSync, globSync, readFileSync } from "node:fs";
import t from "tap";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { heldBy, nearestTests, startsPrograms } from "../../scripts/nearest-tests.ts";
import { pagesNaming } from "../../scripts/pages-naming.ts";
import { commandsIn, typedIn } from "../../scripts/typed-commands.ts";
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

t.test("tests that type a command of a changed file come before those that load all commands", async (t) => {
  const { reaching } = nearestTests(["commands/apps/systemd-install-app.ts"]);
  t.ok(reaching.slice(0, 8).includes("test/commands/systemd-install-app.test.ts"), reaching.slice(0, 8).join(" "));
  t.equal(nearestTests(["commands/hub/grants.ts"]).reaching[1], "test/commands/lists.test.ts", "after its own");
  t.ok(pagesNaming(["commands/kits/end.ts"]).includes("docs/kits.md"), "a file with several commands");
});

t.test("every command is found in the text of its file, but those whose words are computed", async (t) => {
  const found = new Set(globSync("commands/**/*.ts").flatMap(commandsIn));
  const registered = new Set(COMMANDS.flatMap(({ paths = [] }) => paths.map((words) => words.join(" "))));
  t.strictSame([...found.difference(registered)], []);
  t.strictSame([...registered.difference(found)].toSorted(), [
    ...["project versions", "rollout approve", "rollout resume"],
    ...["watch check", "watch pause", "watch redeploy", "watch resume", "watch retry"],
  ]);
});

t.test("a command is typed as words, or as strings; a single word only as the first of a list", async (t) => {
  const typed = (text: string) => [...typedIn(text, new Set(["app env", "hub quota list", "pin"]))];
  t.strictSame(typed(`run("app", "env", "web")`), ["app env"]);
  t.strictSame(typed("run(`app env ${id}`)"), ["app env"]);
  t.strictSame(typed(`["hub", "quota", "list"]`), ["hub quota list"]);
  t.strictSame(typed(`["pin", target]`), ["pin"]);
  t.strictSame(typed(`t.test("a pin of an app and its env")`), []);
});

t.test("only tests of programs wait for a build", async (t) => {
  t.ok(startsPrograms("test/commands/app-init.test.ts"));
  t.notOk(startsPrograms("test/lib/apps/listening.test.ts"));
  t.notOk(startsPrograms("test/lib/artifact/trust/vectors.test.ts"), "one that names a folder");
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
