import fc from "fast-check";
import semver from "semver";
import t from "tap";
import { semverLabel, versionLabel } from "../../../lib/contract/identifiers.ts";
import { byPrecedence, isDowngrade, latestOf, type RankedVersion } from "../../../lib/contract/versions.ts";

const facts = (version: string, created_at = "2026-01-01T00:00:00Z", is_yanked = false): RankedVersion => ({
  version,
  created_at,
  is_yanked,
});
const latest = (...versions: (RankedVersion | string)[]) =>
  latestOf(versions.map((version) => (typeof version === "string" ? facts(version) : version)))?.version;

t.test("latest is the highest stable version that is not yanked", async (t) => {
  t.equal(latest("1.9.0", "1.10.0", "1.2.0"), "1.10.0");
  t.equal(latest("1.0.0", "2.0.0-rc.1"), "1.0.0", "a pre-release never beats a stable version");
  t.equal(latest("1.0.0", facts("2.0.0", "2026-02-01T00:00:00Z", true)), "1.0.0", "a yanked one does not count");
  t.equal(latest("2.0.0-rc.1", "2.0.0-rc.2", "2.0.0-beta"), "2.0.0-rc.2", "else the highest pre-release");
  t.equal(latest("v1", "0.0.1-alpha"), "0.0.1-alpha", "labels that are not semver rank below");
  t.equal(latest("v1.0.0", "1.0.0"), "1.0.0", "a leading v is not semver");
  t.equal(latest(facts("nightly", "2026-01-02T00:00:00Z"), facts("weekly", "2026-01-01T00:00:00Z")), "nightly");
  t.equal(latest(), undefined);
  t.equal(latest(facts("1.0.0", "2026-01-01T00:00:00Z", true)), undefined);
});

const number = fc.integer({ min: 0, max: 3 });
const label = fc.oneof(
  fc.tuple(number, number, number).map((parts) => parts.join(".")),
  fc
    .tuple(number, number, number, fc.constantFrom("rc.1", "rc.2", "alpha", "beta.11", "0"))
    .map(([a, b, c, pre]) => `${a}.${b}.${c}-${pre}`),
  fc.tuple(number, number, fc.constantFrom("+build.1", "+build.2")).map(([a, b, build]) => `${a}.${b}.0${build}`),
  fc.constantFrom("nightly", "v1.0.0", "1.0", "2026-01-01", "latest-ish"),
);
const version = fc.record({
  version: label,
  created_at: fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"),
  is_yanked: fc.boolean(),
});

t.test("there is one answer, whatever the order in which versions are stored", async (t) => {
  const unique = fc.uniqueArray(version, { selector: (v) => v.version, maxLength: 12 });
  fc.assert(
    fc.property(unique, fc.infiniteStream(fc.nat()), (versions, seeds) => {
      const shuffled = versions.toSorted(() => (seeds.next().value % 2 === 0 ? 1 : -1));
      const answer = latestOf(versions);
      if (latestOf(shuffled) !== answer) return false;
      const first = versions.filter((v) => !v.is_yanked).toSorted(byPrecedence)[0];
      const stable = versions.filter((v) => !v.is_yanked && semverLabel.safeParse(v.version).success);
      const highest = semver.rsort(stable.map((v) => v.version).filter((v) => semver.prerelease(v) === null))[0];
      return answer === first && (highest === undefined || semver.eq(answer!.version, highest));
    }),
    { numRuns: 500 },
  );
  t.pass();
});

t.test("the order is one: antisymmetric and transitive", async (t) => {
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      if (a.version !== b.version && Math.sign(byPrecedence(a, b)) !== -Math.sign(byPrecedence(b, a))) return false;
      return !(byPrecedence(a, b) < 0 && byPrecedence(b, c) < 0 && a.version !== c.version) || byPrecedence(a, c) < 0;
    }),
    { numRuns: 1000 },
  );
  t.pass();
});

t.test("a number that nobody can compare makes a version a mere label", async (t) => {
  const huge = "3.9007199254740993.0";
  t.equal(latest("1.0.0", huge), "1.0.0");
  t.equal(latest(huge), huge);
  t.notOk(isDowngrade(huge, "1.0.0"));
  t.notOk(isDowngrade("1.0.0", huge));
});

t.test("only semver knows a downgrade", async (t) => {
  t.ok(isDowngrade("1.1.0", "1.0.9"));
  t.ok(isDowngrade("1.0.0", "1.0.0-rc.1"));
  t.notOk(isDowngrade("1.0.0", "1.0.0"));
  t.notOk(isDowngrade("1.0.0+b", "1.0.0+a"), "build metadata has no order");
  t.notOk(isDowngrade("nightly", "1.0.0"));
  t.notOk(isDowngrade("1.0.0", "v0.1"));
});

t.test("labels are what paths, headers and file names can carry", async (t) => {
  for (const good of ["1.0.0", "v2", "2026-01-01", "a_b+c.d-e", "x".repeat(128)])
    t.ok(versionLabel.safeParse(good).success, good);
  for (const bad of [
    "",
    "latest",
    "../1",
    "a/b",
    "a b",
    "-1",
    ".1",
    "1@2",
    "\u001b[2J",
    "caf\u00e9",
    "x".repeat(129),
    "1\n",
  ])
    t.notOk(versionLabel.safeParse(bad).success, JSON.stringify(bad));
  for (const bad of ["1.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "1.0.0\n"])
    t.notOk(semverLabel.safeParse(bad).success, JSON.stringify(bad));
});
