// Only in test:all: it fetches two versions of Node.js, and the whole tour runs by one of them.
import { execFileSync, spawnSync, type SpawnSyncReturns } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import t, { type Test } from "tap";
import packageJson from "../../package.json" with { type: "json" };
import { fetchedNode } from "../support/programs/fetched-node.ts";
import { needs } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const [, oldest = "", line = ""] = /^>=((\d+)\.\d+)$/.exec(packageJson.engines.node) ?? [];
const skip = needs("tar") || (process.platform !== "linux" && "needs Linux");

/** Returns what runs a script by a version of Node.js, from an empty folder. */
function nodeOf(t: Test, version: string): { folder: string; run: (...words: string[]) => SpawnSyncReturns<string> } {
  const folder = temporaryFolder(t);
  // The user of sandboxes reads the plugins there.
  chmodSync(folder, 0o755);
  const node = fetchedNode(folder, `linux-${process.arch}`, version);
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const PATH = [dirname(node), env["PATH"]].join(delimiter);
  const run = (...words: string[]) =>
    spawnSync(node, words, { encoding: "utf8", env: { ...env, PATH, TMPDIR: folder } });
  t.match(run("--version").stdout, `v${version}`);
  return { folder, run };
}

t.test("the package passes its self-check on the oldest Node.js that it admits", { skip, timeout: 600_000 }, (t) => {
  const { folder, run } = nodeOf(t, `${oldest}.0`);
  execFileSync(process.execPath, ["scripts/build/pack.ts", folder], { stdio: "ignore" });
  const installed = join(folder, "installed");
  mkdirSync(installed);
  const tarball = join(folder, `sealift-${packageJson.version}.tgz`);
  execFileSync("tar", ["--extract", "--strip-components=1", "--directory", installed, "--file", tarball]);
  const { status, stdout, stderr } = run(join(installed, "dist/bin/sealift.js"), "self-check");
  t.equal(status, 0, stdout + stderr);
  t.end();
});

t.test("the quickstart comes to its end on that line's latest", { skip, timeout: 600_000 }, (t) => {
  const { status, stdout, stderr } = nodeOf(t, line).run("scripts/quickstart.ts");
  t.equal(status, 0, stdout + stderr);
  t.match(stdout, /(?:sandboxed)[^]*requests during the upgrade, 0 failed[^]*the rollout is completed\n/);
  t.end();
});
