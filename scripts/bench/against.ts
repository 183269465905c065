import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { manyFiles, oneFile, projectTree } from "./material.ts";
import { byTurns, freshFolder, type Measured, programsOf } from "./measure.ts";
import { type Row, secondsText } from "./row.ts";
import { deployTo, LEVEL, openStage, publish } from "./stage.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Most that a row may take, as a ratio to the other build: what two runs of one build differ by. */
const ALLOWED = 1.05;

/**
 * Builds a commit once, and keeps it in node_modules/.cache.
 *
 * @param ref commit, tag or branch of this repository
 * @returns its checkout
 */
function buildOf(ref: string): { root: string; commit: string } {
  const git = (...args: string[]): string => execFileSync("git", ["-C", ROOT, ...args], { encoding: "utf8" }).trim();
  const commit = git("rev-parse", "--verify", `${ref}^{commit}`);
  const root = join(ROOT, "node_modules/.cache/sealift-bench", commit);
  if (existsSync(join(root, "dist/bin/sealift.js"))) return { root, commit };
  console.error(`building ${commit.slice(0, 8)} …`);
  rmSync(root, { recursive: true, force: true });
  git("clone", "--quiet", "--no-checkout", ROOT, root);
  execFileSync("git", ["-C", root, "checkout", "--quiet", commit], { stdio: "inherit" });
  // This builds it, too.
  execFileSync("npm", ["ci", "--silent"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  return { root, commit };
}

/** Compares publisher and agent with those of another commit: the same hub, the same artifacts, by turns. */
export async function againstRows(ref: string, folder: string, place: string, runs: number): Promise<Row[]> {
  const { root, commit } = buildOf(ref);
  const against = commit.slice(0, 8);
  const rows: Row[] = [];
  const judge = (what: string, { ours, theirs }: Record<"ours" | "theirs", Measured>): void => {
    const ratio = ours.wall / theirs.wall;
    const detail = `${secondsText(ours, theirs)}; ${ours.peakMb} MB against ${theirs.peakMb} MB`;
    rows.push({ name: what, against, ratio, budget: `≤ ${ALLOWED} ×`, ok: ratio <= ALLOWED, detail });
  };
  for (const { what, many, fill } of [oneFile(512), manyFiles(10_000)]) {
    await using stage = await openStage(join(folder, "stage"));
    const other = { ...stage, program: programsOf(root) };
    const source = join(stage.folder, "source");
    fill(await projectTree(source, stage.projectId));
    let version = 0;
    const published = await byTurns(runs, {
      ours: () => publish(stage, source, `1.0.${version++}`, LEVEL, ["--deltas", "0"]),
      theirs: () => publish(other, source, `1.0.${version++}`, LEVEL, ["--deltas", "0"]),
    });
    const deployed = await byTurns(runs, {
      ours: () => deployTo(stage, "1.0.0", freshFolder(stage.folder, "host", many)),
      theirs: () => deployTo(other, "1.0.0", freshFolder(stage.folder, "host", many)),
    });
    judge(`publish ${what}, ${place}`, published);
    judge(`deploy ${what}, ${place}`, deployed);
  }
  return rows;
}
