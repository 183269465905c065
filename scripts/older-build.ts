import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Commit of each release: what its programs wrote, this version reads (test/fixtures/README.md). */
export const RELEASES = {
  "0.1.0": "840f434b5aebb10c2850f6293562f3798f39ee46",
  "0.2.0": "5ddf3de5d7416e0cf5a11566aab187c716d3a9e5",
} as const;
export type ReleaseName = keyof typeof RELEASES;

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/**
 * Builds of older commits. Outside of `node_modules`, in whose files Node strips no types. Those of root are where the
 * users of sandboxes reach them.
 */
const BUILDS = join(
  process.env["XDG_CACHE_HOME"] || (process.getuid?.() === 0 ? "/var/cache" : join(homedir(), ".cache")),
  "sealift-builds",
);

const git = (...args: string[]): string => execFileSync("git", ["-C", ROOT, ...args], { encoding: "utf8" }).trim();

function fullCommit(ref: string): string {
  const named = ["rev-parse", "--quiet", "--verify", `${ref}^{commit}`];
  try {
    return git(...named);
  } catch {
    // A shallow clone lacks it.
    git("fetch", "--quiet", "--depth=1", "origin", ref);
    return git(...named);
  }
}

/** Lends a checkout the packages that it was not installed with: only its build uses them. */
function lendPackages(theirs: string, ours = join(ROOT, "node_modules")): void {
  mkdirSync(theirs, { recursive: true });
  for (const name of readdirSync(ours).filter((each) => !each.startsWith("."))) {
    if (name.startsWith("@")) lendPackages(join(theirs, name), join(ours, name));
    else if (!existsSync(join(theirs, name))) symlinkSync(join(ours, name), join(theirs, name));
  }
}

/**
 * Builds the programs of a commit once, with the packages of its own lock file.
 *
 * @param ref commit, tag or branch of this repository
 * @param folder that keeps builds. Default: in the user's cache
 * @returns its checkout
 */
export function buildOf(ref: string, folder = BUILDS): { root: string; commit: string } {
  const commit = fullCommit(ref);
  const root = join(folder, commit);
  if (existsSync(root)) return { root, commit };
  console.error(`building ${commit.slice(0, 8)} …`);
  const unfinished = `${root}.${process.pid}`;
  try {
    mkdirSync(unfinished, { recursive: true });
    // Neither a clone nor a worktree: no branch of a shallow clone leads to the commit.
    const index = { ...process.env, GIT_INDEX_FILE: join(unfinished, ".index") };
    for (const args of [
      ["read-tree", commit],
      ["checkout-index", "--all", `--prefix=${unfinished}/`],
    ])
      execFileSync("git", args, { cwd: ROOT, env: index, stdio: ["ignore", "ignore", "inherit"] });
    const run = (program: string, ...args: string[]): unknown =>
      execFileSync(program, args, { cwd: unfinished, stdio: ["ignore", "ignore", "inherit"] });
    // What only tests and checks of that commit need takes most of the time.
    run("npm", "ci", "--omit=dev", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--silent");
    lendPackages(join(unfinished, "node_modules"));
    run(process.execPath, "scripts/build/main.ts", "--fast");
    renameSync(unfinished, root);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return { root, commit };
}

// `node scripts/older-build.ts 0.2.0 …` builds releases ahead of those that need them.
if (import.meta.main)
  try {
    for (const release of process.argv.slice(2)) buildOf(RELEASES[release as ReleaseName]);
  } catch (error) {
    console.error(`A release was not built: ${(error as Error).message}`);
  }
