import t from "tap";
import { placesOf, ROLES } from "../../../commands/shell/completion/tree.ts";
import { allCommandFacts } from "../../../commands/shell/facts.ts";
import { COMMANDS } from "../../../commands/shell/registry.ts";
import packageJson from "../../../package.json" with { type: "json" };

const facts = allCommandFacts(COMMANDS);
const find = (path: string) => facts.find(({ paths }) => paths.some((words) => words.join(" ") === path))!;
const option = (path: string, name: string) => find(path).options.find((candidate) => candidate.name === name);

t.test("every command is there, with all of its options and what they take", async (t) => {
  t.equal(facts.length, COMMANDS.length);
  for (const { paths, description, category, options } of facts) {
    t.ok(description !== "" && category !== "", paths[0]!.join(" "));
    for (const { name, description: what } of options) {
      t.match(name, /^--[a-z][a-z0-9-]*$/);
      t.ok(what !== "", `${paths[0]!.join(" ")} ${name}`);
    }
  }
  t.match(option("marketplace publish", "--signing-secret"), { takesValue: true, values: [] });
  t.match(option("marketplace publish", "--json"), { takesValue: false });
  t.match(option("watch", "--no-tui"), { takesValue: false, description: "Print lines on a terminal, too" });
  t.equal(option("watch", "--tui"), undefined);
});

t.test("the words that an option takes are those of its table", async (t) => {
  const values = (path: string, name: string) => option(path, name)!.values;
  t.strictSame(values("deploy-project", "--supervisor"), ["none", "runtime", "systemd", "docker"]);
  t.strictSame(values("project create", "--kind"), ["project", "plugin", "service"]);
  t.strictSame(values("deploy-marketplace", "--symlinks"), ["refuse", "skip"]);
  t.strictSame(values("hub-serve", "--log-level"), ["trace", "debug", "info", "warn", "error", "silent"]);
  for (const name of ["--supervisor-name", "--api-key", "--host-id"]) t.strictSame(values("deploy-project", name), []);
});

t.test("places lead from word to word", async (t) => {
  const places = placesOf(facts);
  const words = (path: string) => places.find((place) => place.path === path)!.words.map(({ word }) => word);
  t.ok(words("").includes("deploy-project") && words("").includes("marketplace"));
  t.strictSame(words("marketplace").toSorted(), ["deploy", "publish", "search", "sign", "signing-key"]);
  t.strictSame(words("watch"), ["consent", "init", "pause", "resume", "check", "redeploy", "retry"]);
  t.strictSame(words("watch pause"), []);
  t.strictSame(places.find(({ path }) => path === "marketplace")!.options, []);
});

t.test("every program of the package is completed", async (t) => {
  t.strictSame(Object.keys(packageJson.bin).toSorted(), ["sealift", ...Object.keys(ROLES)].toSorted());
  for (const path of Object.values(ROLES)) t.ok(find(path), path);
});
