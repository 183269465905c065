import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import fc from "fast-check";
import t, { type Test } from "tap";
import { settingName, settingNames, withoutSetting, withSetting } from "../../../lib/releases/settings-text.ts";
import { rounds } from "../../support/effort.ts";
import { needs, programFile } from "../../support/programs/optional.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Characters that some reader of such files takes for more than themselves. */
const HARD = ["'", '"', "\\", "`", "$", "#", ";", " ", "\t", "\n", "=", "a", "é", "n", "%", "!"];
const value = fc.string({ unit: fc.constantFrom(...HARD), maxLength: 8 });

/** Returns a text with a value, or undefined where it is refused. */
function written(value: string, before = ""): string | undefined {
  try {
    return withSetting(before, "NAME", value);
  } catch (error) {
    t.match(error, { code: "usage" });
    return undefined;
  }
}

/**
 * Reads values as systemd reads them: its programs read os-release by the code that reads an EnvironmentFile, and
 * systemd-tmpfiles writes four of its values where it is told.
 */
function readBySystemd(t: Test, texts: readonly string[]): string[] {
  const root = temporaryFolder(t);
  mkdirSync(join(root, "etc"));
  const fields = { ID: "%o", VERSION_ID: "%w", VARIANT_ID: "%W", BUILD_ID: "%B" };
  const names = Object.keys(fields);
  const file = join(root, "some.conf");
  writeFileSync(
    file,
    Object.values(fields)
      .map((field, index) => `f+ /${index} 0644 - - - [${field}]\n`)
      .join(""),
  );
  const found: string[] = [];
  for (let at = 0; at < texts.length; at += names.length) {
    const some = texts.slice(at, at + names.length);
    const release = some.map((text, index) => text.replace(/^NAME=/m, `${names[index]}=`)).join("");
    writeFileSync(join(root, "etc/os-release"), release);
    execFileSync(programFile("systemd-tmpfiles"), [`--root=${root}`, "--create", file], { stdio: "pipe" });
    found.push(...some.map((_, index) => readFileSync(join(root, String(index)), "utf8").slice(1, -1)));
  }
  return found;
}

t.test("Node reads what is written, and everything around it stays", (t) => {
  const before = "# mine\nexport A='x\ny'\nNAME=old # comment\n\nB=\"2\"\n";
  fc.assert(
    fc.property(value, (value) => {
      for (const old of ["", before]) {
        const text = written(value, old);
        if (text === undefined) return;
        t.equal(parseEnv(text)["NAME"] === value, true, JSON.stringify(value));
        t.strictSame(settingNames(text), old === "" ? ["NAME"] : ["A", "B", "NAME"]);
        t.equal(withSetting(text, "NAME", value), text, "again changes nothing");
        t.equal(withoutSetting(text, "NAME"), old.replace("NAME=old # comment\n", ""));
      }
    }),
    { numRuns: rounds(300, 20_000) },
  );
  t.end();
});

t.test("systemd reads what is written", { skip: needs("systemd-tmpfiles") }, (t) => {
  const texts: string[] = [];
  const values = fc.sample(value, rounds(160, 4_000)).filter((value) => {
    const text = written(value);
    if (text !== undefined) texts.push(text);
    return text !== undefined;
  });
  t.ok(values.length > 50);
  t.strictSame(readBySystemd(t, texts), values);
  t.end();
});

t.test("ordinary values are written plainly or in quotes, and others refused", (t) => {
  const secret = "postgres://u:p@db:5432/shop?a=1&b=2";
  t.equal(written("plain/1.0:x@y%z+a,b=c-d"), "NAME=plain/1.0:x@y%z+a,b=c-d\n");
  t.equal(written(secret), `NAME='${secret}'\n`);
  t.equal(written('{"a": "$b\\n"}\nx'), `NAME='{"a": "$b\\n"}\nx'\n`);
  t.equal(written("it's $5 #1"), `NAME="it's $5 #1"\n`);
  t.equal(written(`it's "so"`), `NAME=it's "so"\n`);
  t.equal(written(""), "NAME=''\n");
  for (const bad of [`'"\\`, `"it's"`, `it's "#"`, "a\rb", "a\0b", "\u001b[0m", "\ud800"])
    t.equal(written(bad), undefined, JSON.stringify(bad));
  t.throws(() => withSetting("", "NAME", "secret\0"), { message: /^((?!secret).)*$/ }, "no error holds the value");
  for (const bad of ["", "1A", "A-B", "A B", "A=B", "Ä"]) t.throws(() => settingName(bad), { code: "usage" });
  t.end();
});

t.test("a setting replaces all its lines, the last of which counts", (t) => {
  const text = "NAME='1\n2'\n# about it\nOTHER=x\n NAME = 3\n# end\n";
  t.equal(withSetting(text, "NAME", "4"), "# about it\nOTHER=x\nNAME=4\n# end\n");
  t.equal(withoutSetting(text, "NAME"), "# about it\nOTHER=x\n# end\n");
  t.equal(withSetting(text, "NEW", "5"), `${text}NEW=5\n`);
  t.end();
});
