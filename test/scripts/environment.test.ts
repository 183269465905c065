import { globSync, readFileSync } from "node:fs";
import t from "tap";
import { testEnvironment } from "../support/selection.ts";

t.test("tests do not hear the options of whoever runs them", async (t) => {
  const own = { SEALIFT_TEST_NIGHTLY: "1", SEALIFT_PAGES: "docs/watch.md", PATH: "/bin" };
  t.strictSame(testEnvironment({ ...own, SEALIFT_HUB_URL: "https://hub.example", SEALIFT_BASE: "main" }), own);
});

t.test("the check on a clean clone asks for no variable that is an option", async (t) => {
  const options = new Set(readFileSync("docs/options.md", "utf8").match(/`SEALIFT_[A-Z_]+`/g));
  t.ok(options.has("`SEALIFT_HUB_URL`"));
  for (const file of [".ci/run", ...globSync(".github/workflows/ci.yml")]) {
    const named = readFileSync(file, "utf8").match(/\bSEALIFT_[A-Z_]+/g) ?? [];
    t.strictSame(
      named.filter((name) => options.has(`\`${name}\``)),
      [],
      file,
    );
  }
});
