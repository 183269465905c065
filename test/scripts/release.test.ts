import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import packageJson from "../../package.json" with { type: "json" };
import { namedVersions } from "../../scripts/named-versions.ts";
import { needs } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/release.ts", import.meta.url));

t.test("images and tags that operators copy are of the version of package.json", { skip: needs("git") }, (t) => {
  const named = namedVersions();
  t.ok(new Set(named.map(({ path }) => path)).size >= 5, "compose, Kubernetes, CI and installing name one");
  t.strictSame(
    named.filter(({ version }) => version !== packageJson.version),
    [],
  );
  t.end();
});

t.test("--dry-run says what a release does, and what is in its way", { skip: needs("git") }, (t) => {
  const cwd = temporaryFolder(t);
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd });
  const release = (heading: string, ...args: string[]) => {
    writeFileSync(join(cwd, "CHANGELOG.md"), `# Changelog\n\n${heading}\n\n- One.\n`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, "--dry-run", ...args], {
      cwd,
      encoding: "utf8",
    });
    return { status, text: stdout + stderr };
  };
  writeFileSync(join(cwd, "package.json"), '{ "version": "0.1.0" }');
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "first");

  const dated = release("## 0.1.0 (2026-11-26)");
  t.match(dated, {
    status: 0,
    text: /^would write version 0\.1\.0[^]*would have .*"## 0\.1\.0 \(2026-11-26\)"[^]*v0\.1\.0/,
  });
  const today = new Date().toISOString().slice(0, 10);
  t.match(release("## 0.2.0 (unreleased)"), { status: 0, text: `"## 0.2.0 (${today})"` });
  t.match(release("## 0.2.0 (unreleased)", "0.2.1"), { status: 0, text: `"## 0.2.1 (${today})"` });
  t.match(release("## 0.1.0 (2026-11-26)", "0.2.0"), { status: 1, text: /give 0\.2\.0 the heading "## Unreleased"/ });
  t.match(release("## Unreleased", "0.2.0"), { status: 0, text: `"## 0.2.0 (${today})"` });
  t.match(release("## Unreleased"), { status: 1, text: "Name the version" });
  t.match(release("## 0.0.9 (unreleased)"), { status: 1, text: "0.0.9 is lower than 0.1.0" });
  t.match(release("## Next"), { status: 1, text: "Name the version" });
  git("tag", "v0.1.0");
  t.match(release("## 0.1.0 (2026-11-26)"), { status: 1, text: "The tag v0.1.0 exists." });
  t.end();
});

t.test("workflows and examples name the actions of others by their commits, with the version beside it", (t) => {
  const files = ["ci.yml", "nightly.yml", "release.yml"].map((name) => `.github/workflows/${name}`);
  const used = [...files, "ci/github/README.md", "docs/ci.md"].flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^ *(?:- )?uses: (?!sealift\/publish@COMMIT$)(.*)$/gm)].map(
      ([, name]) => name!,
    ),
  );
  t.ok(used.length > 20);
  const isPinned = (name: string): boolean => /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(name);
  t.strictSame(
    used.filter((name) => !isPinned(name)),
    [],
  );
  const commits = Map.groupBy(used, (name) => name.split("@")[0]);
  for (const [action, names] of commits) t.equal(new Set(names).size, 1, `${action} is one everywhere`);
  t.end();
});

t.test("the owner is told of every secret and variable that the workflow uses", (t) => {
  const workflow = readFileSync(".github/workflows/release.yml", "utf8");
  const used = new Set([...workflow.matchAll(/\b(?:secrets|vars)\.(\w+)/g)].map(([, name]) => name!));
  t.ok(used.size >= 5);
  const section = /^## Release\n[^]*?(?=^## )/m.exec(readFileSync("CONTRIBUTING.md", "utf8"))![0];
  for (const name of used) t.match(section, `\`${name}\``);
  t.end();
});
