// Only in test:all: each of its archives is published, and refused by a host, 10 s of a processor.
import t from "tap";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";
import { createTarget, publishZip } from "../../support/hub/marketplace-publication.ts";

/** Names that some file system holds equal. */
const PAIRS: Record<string, [string, string][]> = {
  "stand in it twice": [
    ["a.js", "a.js"],
    ["a.js", "./a.js"],
    ["folder/", "folder/"],
    ["folder/", "./folder/"],
    ["plugin.yaml", "plugin.yaml"],
  ],
  "differ in case only": [
    ["README", "readme"],
    ["src/a.js", "SRC/b.js"],
    ["Folder/", "folder/x"],
    ["straße", "STRASSE"],
    ["İ", "i̇"],
  ],
  "differ in Unicode normalisation only": [
    ["caf\u00e9.js", "cafe\u0301.js"],
    ["\u212b", "\u00c5"],
    ["caf\u00e9/a", "cafe\u0301/b"],
  ],
  "are a file and a folder at once": [
    ["a", "a/b"],
    ["a/b", "a"],
    ["a", "a/"],
    ["a/", "a"],
    ["a/b/c", "a/b"],
    ["plugin.yaml", "plugin.yaml/x"],
  ],
};

const entriesOf = (names: readonly string[]) =>
  names.map((name, index) => ({ name, content: name.endsWith("/") ? "" : `content ${index}` }));

for (const [what, pairs] of Object.entries(PAIRS)) {
  t.test(`an archive with entries that ${what} is refused`, async (t) => {
    const host = await marketplaceHost(t);
    for (const pair of pairs) {
      const name = pair[1].replace(/^\.\//, "").split("/")[0]!;
      await host.refusesEntries(t, entriesOf(pair), "member_duplicate", name);
      await host.refusesEntries(t, entriesOf(pair).toReversed(), "member_duplicate", "");
      const below = entriesOf(pair.map((name) => `top/${name.replace(/^\.\//, "")}`));
      await host.refusesEntries(t, below, "member_duplicate", "top/");
    }
  });
}

t.test("the hub refuses the same archives when they are published", async (t) => {
  const target = await createTarget(t);
  for (const pair of Object.values(PAIRS).flat()) {
    const answer = await publishZip(target, pluginZip(entriesOf(pair)));
    t.match({ status: answer.status, code: answer.body.code }, { status: 422, code: "member_duplicate" }, pair.join());
  }
});

t.test("names that only look alike are kept apart", async (t) => {
  const host = await marketplaceHost(t);
  const names = ["a.js", "\u0430.js", "a/b", "a-b/c", "ab"];
  const files = await host.accepts(t, pluginZip(entriesOf(names)));
  for (const name of names) t.ok(files[name], name);
});
