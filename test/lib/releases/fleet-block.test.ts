// Holds: the block of the fleet's settings in an application's file (lib/releases/fleet-block.ts)
import { parseEnv } from "node:util";
import fc from "fast-check";
import t from "tap";
import { countingSettings, splitSettings, withFleet } from "../../../lib/releases/fleet-block.ts";
import { quotedAlike } from "../../../lib/releases/settings-text.ts";
import { rounds } from "../../support/effort.ts";

const PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----\n";
const OWN = "# of this host\nLOG_LEVEL=info\nREGION='north sea'\n";

t.test("the fleet's settings stand behind the host's, beat them, and go without a trace", async (t) => {
  const text = withFleet(OWN, { LOG_LEVEL: "debug", KEY: PEM });
  t.ok(text.startsWith(OWN));
  t.strictSame({ ...parseEnv(text) }, { LOG_LEVEL: "debug", REGION: "north sea", KEY: PEM });
  t.strictSame(splitSettings(text), { own: OWN, fleet: { LOG_LEVEL: "debug", KEY: PEM } });
  t.equal(withFleet(splitSettings(text).own, {}), OWN);
});

t.test("a file without a block stays as it is, byte for byte", async (t) => {
  for (const text of ["", "A=1", "A=1\n\n# end", "A='1\n2'\n"])
    t.strictSame(splitSettings(text), { own: text, fleet: {} });
});

t.test("any values come back, whatever the host's own lines are", async (t) => {
  const name = fc.constantFrom("A", "B", "C_1");
  const value = fc.string({ unit: fc.constantFrom("a", "'", '"', "\n", " ", "#", "=", "é", ">", "<"), maxLength: 12 });
  const values = fc.dictionary(
    name,
    value.filter((text) => quotedAlike(text) !== undefined),
  );
  const own = fc.constantFrom("", OWN, "A=x\n", "C_1='a\nb'\n", "# note\n\n", "export B=2\n");
  fc.assert(
    fc.property(own, values, values, (lines, first, second) => {
      const text = withFleet(splitSettings(withFleet(lines, first)).own, second);
      t.strictSame({ ...parseEnv(text) }, { ...parseEnv(lines), ...second });
      t.equal(splitSettings(text).own, lines);
    }),
    { numRuns: rounds(300, 10_000) },
  );
});

t.test("lines of the host are never lost to a mark that somebody removed", async (t) => {
  const written = { LOG_LEVEL: "debug", KEY: PEM };
  const whole = withFleet(OWN, written);
  const lines = whole.split("\n");
  const withoutLine = (pattern: RegExp): string => lines.filter((line) => !pattern.test(line)).join("\n");
  for (const text of [withoutLine(/^# >>>/), withoutLine(/^# <<</), `${withoutLine(/^# <<</)}OWN=1\n`]) {
    const { own, fleet } = splitSettings(text, written);
    t.match(own, /LOG_LEVEL=info/);
    t.match(own, /REGION/);
    t.notMatch(own, /PRIVATE|debug/);
    t.equal(own.includes("OWN=1"), text.includes("OWN=1"));
    t.strictSame({ ...fleet }, written);
  }
  const added = splitSettings(`${whole}LATE=1\n`, written);
  t.match(added.own, /LATE=1/, "a line behind the block is the host's");
  t.match(splitSettings(withoutLine(/^# <<</).replace("debug", "trace"), written).own, /trace/, "so is a changed one");
});

t.test("marks inside a value are no marks", async (t) => {
  const values = { A: "x\n# <<< settings of the fleet <<<\ny", B: "1" };
  const text = withFleet(OWN, values);
  t.strictSame({ ...splitSettings(text).fleet }, values);
  t.equal(splitSettings(text).own, OWN);
});

t.test("only what the version reads counts, and never what steers a host", async (t) => {
  const given = {
    ...{
      LOG_LEVEL: "debug",
      NODE_OPTIONS: "--import=x",
      PORT: "1",
      PORT_METRICS: "2",
      HOST: "::",
      PATH: "/x",
      HOME: "/",
    },
    ...{ LD_PRELOAD: "x", SEALIFT_API_KEY: "x", LISTEN_FDS: "1", OTHER: "x", PORTAL_URL: "y", ODD: `'"\\\n` },
  };
  const declared = new Set(Object.keys(given).filter((name) => name !== "OTHER"));
  const { values, ignored } = countingSettings("web", given, declared);
  t.strictSame(values, { LOG_LEVEL: "debug", PORTAL_URL: "y" });
  const codes = Object.fromEntries(ignored.map(({ name, code }) => [name, code]));
  t.match(codes, { "web.NODE_OPTIONS": "settings_reserved", "web.OTHER": "settings_undeclared" });
  t.match(codes, { "web.ODD": "settings_unreadable", "web.LISTEN_FDS": "settings_reserved" });
  t.equal(ignored.length, Object.keys(given).length - 2);
  t.strictSame(countingSettings("other", { A: "1" }, undefined).ignored, [
    { name: "other.A", code: "settings_foreign" },
  ]);
});
