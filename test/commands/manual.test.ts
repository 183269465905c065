import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";
import { ROLES } from "../../commands/shell/completion/tree.ts";
import { allCommandFacts } from "../../commands/shell/facts.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";
import packageJson from "../../package.json" with { type: "json" };
import { needs } from "../support/programs/optional.ts";

const run = promisify(execFile);
const fileOf = (program: string): string => fileURLToPath(new URL(`../../dist/man/${program}.1`, import.meta.url));
const facts = allCommandFacts(COMMANDS);
/** roff writes a hyphen that is one as `\-`. */
const unescaped = (text: string): string => text.replaceAll("\\-", "-");

t.test("every program has a page, and the package names them", async (t) => {
  const programs = Object.keys(packageJson.bin);
  t.strictSame(packageJson.man.toSorted(), programs.map((program) => `dist/man/${program}.1`).toSorted());
  for (const program of programs) t.match(readFileSync(fileOf(program), "utf8"), /EXIT STATUS/, program);
});

t.test("a page tells every option of its command, and sealift's those of all", async (t) => {
  const sealift = unescaped(readFileSync(fileOf("sealift"), "utf8"));
  for (const { paths, options } of facts) {
    const words = paths.map((path) => path.join(" "));
    const pages = Object.entries(ROLES).filter(([, role]) => words.includes(role));
    const texts = [sealift, ...pages.map(([program]) => unescaped(readFileSync(fileOf(program), "utf8")))];
    for (const text of texts) for (const { name } of options) if (!text.includes(name)) t.fail(`${words[0]} ${name}`);
    t.ok(sealift.includes(words[0]!), words[0]!);
  }
});

t.test("man shows them without a warning", { skip: needs("man") }, async (t) => {
  for (const program of Object.keys(packageJson.bin)) {
    const env = { PATH: process.env.PATH, MANWIDTH: "100", LANG: "C.UTF-8" };
    const { stdout, stderr } = await run("man", ["--warnings", "-l", fileOf(program)], { env });
    t.equal(stderr, "", program);
    t.match(stdout, new RegExp(`NAME\\s+${program}\\s+[-–—]\\s`));
    // Neither Markdown nor roff is left.
    t.notMatch(stdout, /`|\*\*|\\f[BIR]|<(?!id>)\/?[a-z]+>/);
  }
});
