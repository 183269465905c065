import { setTimeout as sleep } from "node:timers/promises";
import type { HubConnection } from "../../../lib/client/hub-connection.ts";
import type { Target, TargetName } from "../../../lib/contract/target.ts";
import { ownProcess } from "../../../lib/support/one-file.ts";
import { answerFile, isFirstToAsk, keepAnswer, readAnswer } from "./answers.ts";
import { type Question, questionOf, type WordList } from "./question.ts";

/** Time after the start of the program when waiting ends, in milliseconds; its exit takes a few more. */
const DEADLINE_MS = 180;
/** Time limit for the hub when nobody waits any more, in milliseconds, so that the next Tab finds its answer. */
const LATER_MS = 10_000;
/** Most candidates offered: a hub may have thousands, which nobody reads. */
const MOST = 500;

type Add = (word: string) => void;

/**
 * Answers a shell: prints the words that may replace the last one, one per line, as far as they are known in time. On
 * any error it prints nothing. A separate process continues waiting for a late hub.
 */
export async function answerShell(spec: string, words: readonly string[]): Promise<void> {
  const deadline = () => sleep(Math.max(0, DEADLINE_MS - performance.now()));
  const { found, isLate } = await candidates(spec, words, { deadline });
  const { writeSync } = await import("node:fs");
  if (found.length > 0) writeSync(1, found.map((word) => `${word}\n`).join(""));
  if (!isLate) return;
  const { spawn } = await import("node:child_process");
  const { execArgv, script } = ownProcess(process.execArgv, process.argv[1]!);
  spawn(process.execPath, [...execArgv, script, "__complete-later", spec, ...words], {
    detached: true,
    stdio: "ignore",
  }).on("error", () => {});
}

/** Stores the hub's answer for the next Tab, unless another process does. */
export async function askLater(spec: string, words: readonly string[]): Promise<void> {
  await candidates(spec, words, { deadline: () => sleep(LATER_MS), isLater: true });
}

/**
 * Returns the words that may replace the last one.
 *
 * @param spec from the completion script
 * @param when.deadline time until which the hub is awaited; this host is read for as long as it takes
 * @param when.isLater whether to ask the hub only if no other process does
 * @returns the words, and whether the hub did not answer in time
 */
export async function candidates(
  spec: string,
  words: readonly string[],
  { deadline, isLater = false }: { deadline: () => Promise<unknown>; isLater?: boolean },
): Promise<{ found: string[]; isLate: boolean }> {
  const question = questionOf(spec, words);
  if (question === undefined) return { found: [], isLate: false };
  const found = new Set<string>();
  // A word with white space or control characters would be several to a shell.
  const add = (word: string): void => {
    if (found.size < MOST && word.startsWith(question.start) && /^[\x21-\x7e]+$/.test(word)) found.add(word);
  };
  await HERE[question.kind]?.(question, add).catch(() => undefined);
  const isLate = await fromHub(question, { add, deadline, isLater }).catch(() => false);
  return { found: [...found].toSorted(), isLate };
}

/** Word lists that the files of this host answer, without a call of the hub. */
const HERE: Partial<Record<WordList, (question: Question, add: Add) => Promise<void>>> = {
  async contexts(_question, add) {
    const { readContexts } = await import("../../../lib/options/contexts.ts");
    for (const name of Object.keys(readContexts().contexts)) add(name);
  },
  async "kept-targets"(question, add) {
    for (const { text } of await targetsHere(question)) add(text);
  },
  targets: (question, add) => HERE["kept-targets"]!(question, add),
  async "kept-versions"(question, add) {
    const { listReleases } = await import("../../../lib/releases/release.ts");
    for (const { layout, name } of await meantHere(question))
      for (const { version } of await listReleases(layout, name)) add(version);
  },
  async "kept-plugins"(question, add) {
    const { currentRelease } = await import("../../../lib/releases/release.ts");
    for (const { layout, name } of await meantHere(question))
      for (const { section, id } of (await currentRelease(layout, name))?.items ?? [])
        if (section === "plugins") add(id);
  },
};

async function targetsHere({ options }: Question) {
  const [{ knownTargets }, { layoutOf }, { targetOfName, targetText }] = await Promise.all([
    import("../../../lib/releases/targets.ts"),
    import("../../../lib/releases/layout.ts"),
    import("../../../lib/contract/target.ts"),
  ]);
  const layout = layoutOf(options.get("--project-root") ?? (process.env["SEALIFT_PROJECT_ROOT"] || "."));
  const known = await knownTargets(layout);
  return known.map((name: TargetName) => ({ layout, name, text: targetText(targetOfName(name)) }));
}

/** Returns the targets here that the first argument names, in full or by slug or id alone. */
async function meantHere(question: Question) {
  const [given = ""] = question.before;
  return (await targetsHere(question)).filter(({ text }) => text === given || text.endsWith(`:${given}`));
}

/** Lists of a hub. */
const ASKED: Partial<Record<WordList, (hub: HubConnection, question: Question, add: Add) => Promise<void>>> = {
  async targets(hub, _question, add) {
    const [{ listFleets }, { targetText }] = await Promise.all([
      import("../../../lib/client/fleet.ts"),
      import("../../../lib/contract/target.ts"),
    ]);
    const fleets = async (): Promise<void> => {
      for await (const { target } of listFleets(hub)) add(target);
    };
    await Promise.all([fleets(), projects(hub, (target) => add(targetText(target)))]);
  },
  projects: (hub, _question, add) => projects(hub, ({ kind, id }) => kind === "project" && add(id)),
  slugs: (hub, _question, add) => projects(hub, ({ kind, slug }) => kind !== "project" && add(slug)),
  async hosts(hub, question, add) {
    const [target, { readFleet }] = await Promise.all([meant(hub, question), import("../../../lib/client/fleet.ts")]);
    for await (const { host_id: id } of (await readFleet(target, hub)).hosts) add(id);
  },
  async versions(hub, question, add) {
    const { kind, slug } = await meant(hub, question);
    if (kind === "project") {
      const { keyService } = await import("../../../lib/client/key-service.ts");
      for await (const { version } of keyService(hub).listVersions({ params: { id: slug } })) add(version);
    } else {
      const { MarketplaceClient } = await import("../../../lib/client/marketplace-client.ts");
      for (const { version } of (await new MarketplaceClient(kind, slug, hub).detail()).versions ?? []) add(version);
    }
  },
};

async function projects(hub: HubConnection, see: (project: Target & { id: string }) => void): Promise<void> {
  const { keyService } = await import("../../../lib/client/key-service.ts");
  for await (const project of keyService(hub).listProjects()) see(project);
}

/** Returns the target that the earlier words name. */
async function meant(hub: HubConnection, { before, hasSlug, options }: Question) {
  const { targetCalled } = await import("../../../lib/client/lookup.ts");
  const text = before[0] ?? options.get("--project-id") ?? "";
  return targetCalled(hub, hasSlug ? `${options.get("--kind") ?? "plugin"}:${text}` : text);
}

/** Adds what the hub answers before the deadline, or has recently answered. @returns whether it was late */
async function fromHub(
  question: Question,
  { add, deadline, isLater }: { add: Add; deadline: () => Promise<unknown>; isLater: boolean },
): Promise<boolean> {
  const { kind, before, options } = question;
  const list = ASKED[kind];
  if (list === undefined) return false;
  const connection = await hubOf(options);
  const about = [kind, before[0], options.get("--project-id"), options.get("--kind")];
  const file = answerFile([connection.hubUrl, connection.apiKey, ...about]);
  const kept = await readAnswer(file);
  const words = new Set<string>();
  const ask = (): Promise<"answered" | "failed" | "late"> => {
    const ended = new AbortController();
    const take: Add = (word) => void (words.size < MOST && words.add(word));
    const asking = list({ ...connection, signal: ended.signal }, question, take).then(
      () => "answered" as const,
      () => "failed" as const,
    );
    return Promise.race([asking, deadline().then(() => "late" as const)]).finally(() => ended.abort());
  };
  const mayAsk = kept?.isFresh !== true && (!isLater || (await isFirstToAsk(file)));
  const outcome = mayAsk ? await ask() : "failed";
  if (outcome === "answered") await keepAnswer(file, words);
  else kept?.words.forEach((word) => words.add(word));
  words.forEach(add);
  return outcome === "late";
}

/** Returns the hub that the command will use: by its flags, the environment, or a context. @throws UsageError */
async function hubOf(options: ReadonlyMap<string, string>): Promise<HubConnection> {
  const [
    { connection, network },
    { credentialsLayer, environmentLayer, flagsLayer },
    { resolveOptions },
    { contextBelow },
  ] = await Promise.all([
    import("../../../lib/options/connection.ts"),
    import("../../../lib/options/layers.ts"),
    import("../../../lib/options/resolve.ts"),
    import("../../../lib/options/contexts.ts"),
  ]);
  const given = Object.fromEntries([...options].map(([flag, value]) => [flag.slice(2), value]));
  const layers = [flagsLayer(given), environmentLayer(process.env), credentialsLayer(process.env)];
  const below = contextBelow(layers) ?? [];
  const { hubUrl, apiKey, caFile } = await resolveOptions({ ...connection, ...network }, layers.concat(below));
  const { prepareNetwork } = await import("../network.ts");
  await prepareNetwork({ caFile, usesTls: !hubUrl.startsWith("http:") });
  return { hubUrl, apiKey, timeoutMs: LATER_MS };
}
