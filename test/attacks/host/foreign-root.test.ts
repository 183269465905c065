// Only in test:all: many requests for one rule, 4 s of a processor.
/** A project root of another user: that one plants links and files where root is about to write. */
import { execFile } from "node:child_process";
import {
  chown,
  lchown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { removeTarget } from "../../../lib/agent/deployment/remove.ts";
import { rollback } from "../../../lib/agent/deployment/rollback.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { requestAction } from "../../../lib/agent/watch/operator-requests.ts";
import { Watch } from "../../../lib/agent/watch/watch.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { type Given, GIVEN_TARGET, INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { plant, plugin } from "../../support/host/project-root.ts";
import { givenTarget } from "../../support/host/watching.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PROGRAM = fileURLToPath(new URL("../../../dist/bin/sealift.js", import.meta.url));
const SOMEBODY = 65_534;
const PROJECT = { kind: "project" as const, slug: GIVEN_TARGET.replace("project-", "") };
const asRoot = { skip: process.getuid?.() === 0 ? false : "only root can give a folder away" };

const optionsOf = (projectRoot: string) => ({
  ...{ ...DEPLOY_DEFAULTS, projectRoot, hostId: "host", supervisor: { name: "none" as const } },
  allowForeignRoot: true,
  durability: "none" as const,
});

/** A root of another user, in which root has deployed these versions, and a folder that nobody may touch. */
async function foreignRoot(t: Test, versions: readonly string[] = ["1.0.0", "2.0.0"]) {
  const root = await realpath(temporaryFolder(t));
  const victim = temporaryFolder(t);
  await plant(victim, { "journal.json": "precious", "a/kept": "precious" });
  await chown(root, SOMEBODY, SOMEBODY);
  const events: AgentEvent[] = [];
  const run = (version: string, given: Given = {}) =>
    deploy(sourceOf(version, INSTALL, given), optionsOf(root), (event) => events.push(event));
  for (const version of versions) t.match(await run(version), { outcome: "deployed" });
  return { root, victim, run, events, layout: layoutOf(root) };
}

/** Every name below a folder, with what it leads to or holds. */
async function everything(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) found.push(`${path} → ${await readlink(path)}`);
    else found.push(entry.isFile() ? `${path}: ${await readFile(path, "latin1")}` : path);
  }
  return found.toSorted();
}

t.test("no command of root writes in the root of another user unasked", asRoot, async (t) => {
  const { root } = await foreignRoot(t);
  const before = await everything(root);
  const target = GIVEN_TARGET.replace("-", ":");
  const commands = [["rollback"], ["remove", "--purge"], ["pin"], ["unpin"], ["watch", "consent"]];
  const ended = commands.map(
    (words) =>
      new Promise<string>((resolve) => {
        const args = [PROGRAM, ...words, target, "--project-root", root];
        execFile(process.execPath, args, { env: { PATH: process.env.PATH } }, (error, _stdout, stderr) =>
          resolve(`${error?.code} ${stderr}`),
        );
      }),
  );
  for (const said of await Promise.all(ended)) t.match(said, /^1 .*belongs to the user 65534, and this is root/s);
  const watched = givenTarget(root);
  watched.publish("3.0.0");
  const results = await new Watch([watched], () => {}).once(new AbortController().signal);
  t.match(results, [{ outcome: "failed", error: { code: "root_foreign" } }]);
  t.same(await everything(root), before, "nothing has changed");
});

t.test("root works in such a root where it is allowed, and says its names", asRoot, async (t) => {
  const { root, run, events, layout } = await foreignRoot(t, ["1.0.0"]);
  const files = { "plugins/a/version": "2.0.0", "plugins/a/data/seed": "seed" };
  const result = await run("2.0.0", { files });
  t.match(result, { outcome: "deployed", previous_version: "1.0.0" });
  t.ok(result.report?.startsWith(join(root, ".sealift/reports")), String(result.report));
  t.notMatch(JSON.stringify(events), "/proc/");
  t.equal(await readFile(join(root, "plugins/a/data/seed"), "utf8"), "seed");
  t.match(await rollback(PROJECT, optionsOf(root), () => {}), { outcome: "deployed", version: "1.0.0" });
  t.equal(await readFile(join(root, "plugins/a/version"), "utf8"), "1.0.0");

  const watched = givenTarget(root, { deploy: { allowForeignRoot: true } });
  watched.publish("3.0.0");
  const [turn] = await new Watch([watched], () => {}).once(new AbortController().signal);
  t.match(turn, { outcome: "deployed", version: "3.0.0" });
  t.match(await removeTarget({ ...PROJECT, purge: true }, optionsOf(root), () => {}), { version: "3.0.0" });
  t.same(await readdir(layout.section("plugins")), []);
});

t.test("a folder of the user is adopted, and its data kept", asRoot, async (t) => {
  const { root, run, layout } = await foreignRoot(t, []);
  await plant(root, { "plugins/a/version": "by hand", "plugins/a/data/own": "own" });
  for (const name of ["plugins", "plugins/a", "plugins/a/data"]) await chown(join(root, name), SOMEBODY, SOMEBODY);
  t.match(await run("1.0.0"), { outcome: "deployed" });
  t.equal(await readFile(join(root, "plugins/a/version"), "utf8"), "1.0.0");
  t.equal(await readFile(join(layout.data(plugin("a")), "own"), "utf8"), "own");
});

/** The places of links, and of what has to stand there for root to come that far. */
const PLACES = [
  ".sealift",
  ".sealift/releases",
  `.sealift/releases/${GIVEN_TARGET}`,
  ".sealift/journal.json",
  ".sealift/state",
  ".sealift/reports",
  `.sealift/outbox/${GIVEN_TARGET}`,
  ".sealift/current",
  ".sealift/ahead",
  ".sealift/partial",
  ".sealift/data/plugins",
  "plugins",
  "extensions",
];

for (const owner of [SOMEBODY, 0]) {
  const whose = owner === 0 ? "the user that is root's by now" : "the user";
  t.test(`a link of ${whose} is followed nowhere`, asRoot, async (t) => {
    const { root, victim, layout } = await foreignRoot(t, ["1.0.0"]);
    const before = await everything(victim);
    for (const place of PLACES) {
      const path = join(root, place);
      const away = join(root, "away");
      await rename(path, away).catch(() => {});
      await symlink(place.endsWith(".json") ? join(victim, "journal.json") : victim, path);
      await lchown(path, owner, owner);
      const code = /root_unusable|root_foreign/;
      const next = await deploy(sourceOf("2.0.0", INSTALL), optionsOf(root), () => {});
      t.match(next.error?.code, code, `deploy, ${place}`);
      t.match((await rollback(PROJECT, optionsOf(root), () => {})).error?.code, code, `rollback, ${place}`);
      await t.rejects(
        removeTarget({ ...PROJECT, purge: true }, optionsOf(root), () => {}),
        { code },
      );
      if (place === ".sealift") await t.rejects(requestAction(layout, GIVEN_TARGET, "pause"), { code });
      t.same(await everything(victim), before, place);
      await rm(path);
      await rename(away, path).catch(() => {});
    }
  });
}

t.test("a release that the user has put there is not gone back to", asRoot, async (t) => {
  const { root, victim, layout } = await foreignRoot(t);
  const name = basename(await readlink(layout.current(GIVEN_TARGET)));
  const path = layout.release(GIVEN_TARGET, name);
  await rename(path, join(victim, "release"));
  await symlink(join(victim, "release"), path);
  const before = await everything(victim);
  t.match(await rollback(PROJECT, optionsOf(root), () => {}), { error: { code: "root_unusable" } });
  t.same(await everything(victim), before);
});

t.test("a journal that the user has written is not carried out", asRoot, async (t) => {
  const { root, run, layout } = await foreignRoot(t, ["1.0.0"]);
  await writeFile(layout.journal, "{}");
  await chown(layout.journal, SOMEBODY, SOMEBODY);
  const before = await everything(root);
  t.match(await run("2.0.0"), { report: null, error: { code: "root_foreign" } });
  t.same(await everything(root), before);
});

t.test("an environment file is not written where a link of the user leads", asRoot, async (t) => {
  const { root, victim, run } = await foreignRoot(t, []);
  await mkdir(join(root, "plugins"));
  await chown(join(root, "plugins"), SOMEBODY, SOMEBODY);
  await symlink(join(victim, "created"), join(root, "plugins/a.env"));
  const before = await everything(victim);
  const files = { "plugins/a/version": "1", "plugins/a/env.example": "A=secret\n" };
  const steps = `${INSTALL}\n  - {id: env, action: write_env, plugin: a, from: env.example, depends_on: [install]}`;
  t.match(await deploy(sourceOf("1.0.0", steps, { files }), optionsOf(root), () => {}), { outcome: "deployed" });
  t.match(await run("2.0.0"), { outcome: "deployed" });
  t.same(await everything(victim), before);
});

for (const place of [".sealift", "plugins"]) {
  t.test(`a link that takes the place of ${place} meanwhile is not followed`, asRoot, async (t) => {
    const { root, victim, run } = await foreignRoot(t, ["1.0.0"]);
    const before = await everything(victim);
    const away = await mkdtemp(join(root, "away-"));
    const resolve = async () => {
      await rename(join(root, place), join(away, "folder"));
      await symlink(victim, join(root, place));
      return { version: "2.0.0", identity: null };
    };
    const files = { "plugins/a/version": "2.0.0", "plugins/a/data/seed": "seed" };
    await run("2.0.0", { resolve, files });
    t.same(await everything(victim), before, "nothing is written where the link leads");
    if (place === ".sealift") return;
    t.equal(await readFile(join(root, ".sealift/current", GIVEN_TARGET, "plugins/a/version"), "utf8"), "2.0.0");
  });
}
