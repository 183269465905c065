import t from "tap";
import { componentQuery, isInRange, packageOf } from "../../../../lib/contract/components/query.ts";

t.test("a search names a component by its name or package URL, with or without a range", async (t) => {
  const by = (name: string | undefined, called: string | undefined, range: string) => ({
    name,
    package: called,
    range,
  });
  for (const [text, expected] of Object.entries({
    lodash: by("lodash", undefined, "*"),
    "lodash@<4.17.21": by("lodash", undefined, "<4.17.21"),
    "lodash@>=1 <2": by("lodash", undefined, ">=1 <2"),
    "lodash@": by("lodash", undefined, "*"),
    "@babel/core": by("@babel/core", undefined, "*"),
    "@babel/core@^7": by("@babel/core", undefined, "^7"),
    "pkg:npm/lodash": by(undefined, "pkg:npm/lodash", "*"),
    "pkg:npm/lodash@^4": by(undefined, "pkg:npm/lodash", "^4"),
    "pkg:npm/%40babel/core@^7": by(undefined, "pkg:npm/@babel/core", "^7"),
    "pkg:npm/@babel/core@^7": by(undefined, "pkg:npm/@babel/core", "^7"),
    "pkg:NPM/@babel/core": by(undefined, "pkg:npm/@babel/core", "*"),
    "pkg:maven/org.apache/log4j@2.14.*": by(undefined, "pkg:maven/org.apache/log4j", "2.14.*"),
    "": undefined,
    "  ": undefined,
    "pkg:": undefined,
    "pkg:npm": undefined,
  }))
    t.strictSame(componentQuery(text), expected, text);
});

t.test("a package URL is told apart from its version, qualifiers and subpath", async (t) => {
  for (const [purl, expected] of Object.entries({
    "pkg:npm/lodash@4.17.20": "pkg:npm/lodash",
    "pkg:npm/%40babel/core@7.0.0": "pkg:npm/@babel/core",
    "pkg:npm/@babel/core@7.0.0": "pkg:npm/@babel/core",
    "pkg:npm/@babel/core": "pkg:npm/@babel/core",
    "pkg:deb/debian/curl@7.50.3-1?arch=i386": "pkg:deb/debian/curl",
    "pkg:golang/google.golang.org/genproto#googleapis": "pkg:golang/google.golang.org/genproto",
    "pkg:oci/x@sha256%3Aabc?tag=1": "pkg:oci/x",
    "pkg:npm/%": "pkg:npm/%",
    lodash: "",
  }))
    t.equal(packageOf(purl), expected, purl);
});

t.test("ranges are semantic where versions are, and texts are compared as texts elsewhere", async (t) => {
  const npm = (version: string) => ({ version, purl: `pkg:npm/x@${version}` });
  const maven = (version: string) => ({ version, purl: `pkg:maven/g/x@${version}` });
  t.equal(isInRange(npm("4.17.20"), "<4.17.21"), true);
  t.equal(isInRange(npm("4.17.21"), "<4.17.21"), false);
  t.equal(isInRange(npm("4.17.21-rc.1"), "<4.17.21"), true, "an earlier version, too, before its release");
  t.equal(isInRange(npm("10.0.0"), ">=9"), true, "by number, not by text");
  t.equal(isInRange({ version: "v1.2.3", purl: "pkg:golang/x@v1.2.3" }, "^1"), true);
  t.equal(isInRange({ version: "1.2.3", purl: "" }, "^1"), true, "without a type a semantic version is one");
  t.equal(isInRange(maven("2.14.1"), "<2.17"), undefined, "no order is known");
  t.equal(isInRange(maven("2.14.1"), ">=2 <3"), undefined);
  t.equal(isInRange(maven("2.14.1"), "2.14.1"), true);
  t.equal(isInRange(maven("2.14.1"), "=2.14.1"), true);
  t.equal(isInRange(maven("2.14.1"), "2.14.*"), true);
  t.equal(isInRange(maven("2.14.1"), "2.1"), false);
  t.equal(isInRange(maven("2.14.1"), "*"), true);
  t.equal(isInRange(npm("not-semver"), "<1"), undefined);
  t.equal(isInRange(npm("not-semver"), "not-semver"), true);
});
