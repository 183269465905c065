import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, cp, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { deploymentError } from "../../contract/errors.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import { type HealthCheck, RUNTIME_CODES, runtimePaths } from "../../contract/surfaces/runtime.ts";
import { ifThere, makeFolder, othersReach } from "../../support/files.ts";
import type { Logger } from "../../support/logging.ts";
import { parseYaml, readYamlFile } from "../../support/yaml-file.ts";
import type { Auditor } from "../base/instance.ts";
import { messageOf, stackOf } from "../guest/fault.ts";
import { createRuntime, type Runtime } from "../runtime.ts";
import { SHARED_READS } from "../sandbox/guest-files.ts";
import { listPlugin, type PackingList } from "./packing-list.ts";
import { descriptorOf, readAuthored } from "./plugin-folder.ts";
import { writeTypePaths } from "./type-paths.ts";

/**
 * Runs one plugin in a throw-away runtime, over HTTP like every caller, and makes the calls of its `plugin.test.yaml`.
 */

export const TRIAL_FILE = "plugin.test.yaml";
/** Files with stand-ins for what the plugin requests of the runtime, beside it. */
export const DOUBLES_FILES = ["plugin.doubles.ts", "plugin.doubles.js"] as const;
/** Name of the plugin that serves the stand-ins in the trial's runtime. */
const DOUBLES_PLUGIN = "plugin.doubles";

const trialCase = z
  .strictObject({
    name: z.string().min(1).optional(),
    action: z.string().min(1),
    payload: z.unknown().optional(),
    /** Result that the call must return. */
    result: z.unknown().optional(),
    /** Code that the call must fail with. */
    code: z.enum(Object.keys(RUNTIME_CODES) as [string, ...string[]]).optional(),
  })
  .refine((entry) => !(entry.code !== undefined && entry.result !== undefined), "has either result or code");
export type TrialCase = z.input<typeof trialCase>;

export interface TrialOptions {
  /** Folder of the plugin, which is copied, so that its data/ stays unchanged. */
  folder: string;
  /** Calls to make instead of those in `plugin.test.yaml`. */
  cases?: readonly TrialCase[];
  /** `integration.yaml` whose services and grants the plugin gets. */
  configFile?: string;
  /** Names that the trial has although archives leave them out; `plugin pack` takes the same. */
  include?: readonly string[];
  /** Called before the plugin is loaded, with what the trial has and what it leaves out. */
  onListed?: (list: PackingList) => void;
  /** Audit hook. While set, permissions and Node's model only record, and refuse nothing. */
  auditor?: Auditor;
  /** Makes the logger. `rewrite` replaces paths of the copy by those of the author's folder. */
  logger: (rewrite: (line: string) => string) => Logger;
}

export interface TrialOutcome {
  name: string;
  passed: boolean;
  /** Answer to the call: its result, or its error body. */
  answer: unknown;
  /** Reason for which it did not pass. */
  reason?: string;
  /** Stack of the error that the action threw, if it did not pass. */
  stack?: string;
  duration_ms: number;
}

export interface TrialResult {
  plugin: string;
  version: string;
  mode: string;
  health: HealthCheck;
  outcomes: TrialOutcome[];
}

const anyMapping = z.record(z.string(), z.unknown());
const INSTALLED = "node_modules";

/**
 * Copies the plugin's own files, and packages as they are installed, whose links npm and others make within their
 * folder.
 */
async function copyPlugin(folder: string, copy: string, { files, leftOut }: PackingList): Promise<void> {
  await makeFolder(copy);
  for (const { path } of files) {
    const to = join(copy, path);
    await makeFolder(dirname(to));
    await copyFile(join(folder, path), to);
  }
  for (const { path, pattern } of leftOut)
    if (pattern === INSTALLED)
      await cp(join(folder, path), join(copy, path), { recursive: true, verbatimSymlinks: true });
}

async function casesOf({ cases, folder }: TrialOptions): Promise<z.output<typeof trialCase>[]> {
  if (cases) return z.array(trialCase).parse(cases);
  const file = join(folder, TRIAL_FILE);
  const text = await ifThere(readFile(file, "utf8"));
  return text === undefined ? [] : parseYaml(text, z.array(trialCase), file);
}

/**
 * Returns a configuration with the operator's services and grants, and a key of its own; work in progress needs no
 * signatures.
 * @param configFile `integration.yaml`
 */
export async function trialConfiguration(
  configFile: string | undefined,
  key: string,
  changeUser = false,
): Promise<object> {
  const given = configFile === undefined ? {} : await readYamlFile(configFile, anyMapping);
  const plugins = (given["plugins"] ?? {}) as Record<string, unknown>;
  const sandbox = (plugins["sandbox"] ?? {}) as Record<string, unknown>;
  return {
    ...given,
    app: { name: "trial", secret_key: key, server: { port: 0, drain_seconds: 1 } },
    plugins: {
      ...plugins,
      directory: "plugins",
      strict_trusted: false,
      sandbox: { ...sandbox, change_user: changeUser },
    },
  };
}

/** Returns advice on how to provide what the plugin requests in a trial. */
function advice(kind: string, name: string): string {
  const own = `Give it a stand-in as ${kind}s.${name} in ${DOUBLES_FILES.join(" or ")}`;
  return kind === "plugin" ? `${own}.` : `${own}, or the real one from services.${kind}s with --integration FILE.`;
}

/**
 * Makes a plugin of the stand-ins: a second copy of the folder, since they may import files in it.
 *
 * @returns its name, if the folder has stand-ins
 */
async function addDoubles(folder: string, plugins: string, copy: string): Promise<string | undefined> {
  const entry = DOUBLES_FILES.find((name) => existsSync(join(folder, name)));
  if (entry === undefined) return undefined;
  const place = join(plugins, DOUBLES_PLUGIN);
  await cp(copy, place, { recursive: true, verbatimSymlinks: true });
  const resources = { rate_limit: { calls: 1_000_000 } };
  const facts = { name: DOUBLES_PLUGIN, version: "0.0.0", entry_point: entry, resources };
  await writeFile(join(place, DESCRIPTOR_FILE), JSON.stringify(facts));
  // The stand-ins answer for the plugins that it requires.
  const { requires: _required, ...own } = await readAuthored(copy, anyMapping);
  await writeFile(join(copy, DESCRIPTOR_FILE), JSON.stringify(own));
  return DOUBLES_PLUGIN;
}

/** Calls an action over HTTP, like any caller. */
export function callOverHttp(
  { url, key }: { url: string; key: string },
  plugin: string,
  action: string,
  payload: unknown,
): Promise<Response> {
  const headers = { "x-plugin-key": key, "content-type": "application/json" };
  return fetch(url + runtimePaths().call(plugin, action), {
    method: "POST",
    headers,
    body: JSON.stringify({ payload }),
  });
}

function judge(entry: z.output<typeof trialCase>, status: number, body: Record<string, unknown>): string | undefined {
  if (entry.code !== undefined) {
    return body["code"] === entry.code ? undefined : `expected the code ${entry.code}, got ${JSON.stringify(body)}`;
  }
  if (status !== 200) return `failed: ${String(body["code"])}: ${String(body["msg"])}`;
  if (!("result" in entry) || isDeepStrictEqual(body["result"], entry.result)) return undefined;
  return `expected ${JSON.stringify(entry.result)}, got ${JSON.stringify(body["result"])}`;
}

/** Loads the stand-ins before the plugin that needs them. @throws DeploymentError `unhealthy` */
async function loadDoubles(
  { catalogue, lifecycle }: Runtime,
  name: string,
  own: (text: string) => string,
): Promise<void> {
  const { actions } = await lifecycle.load(name).then(
    () => catalogue.find(name)!.instance!,
    (error: unknown) => {
      throw deploymentError("unhealthy", own(`The stand-ins of ${name} do not load: ${messageOf(error)}`), {
        cause: error,
      });
    },
  );
  if (!actions.has("request"))
    throw deploymentError("unhealthy", `${name} exports no stand-ins: use export default defineDoubles({…}).`);
}

/**
 * Runs a trial. @returns the outcome of every call; the caller decides about failed ones
 * @throws UsageError for a folder without a valid descriptor, and for files that agents would refuse; DeploymentError
 *   `unhealthy` for a plugin that does not load
 */
export async function tryPlugin(options: TrialOptions): Promise<TrialResult> {
  const folder = resolve(options.folder);
  const { name } = await descriptorOf(folder);
  const list = listPlugin({ folder, name, include: options.include });
  options.onListed?.(list);
  const cases = await casesOf(options);
  await writeTypePaths(folder);
  // By its real path, which stacks have.
  const root = await realpath(await mkdtemp(join(tmpdir(), "sealift-trial-")));
  const copy = join(root, "plugins", basename(folder));
  // People look for the line in their own folder.
  const own = (text: string): string =>
    text.replaceAll(copy, folder).replaceAll(join(dirname(copy), DOUBLES_PLUGIN), folder);
  const logger = options.logger(own);
  const key = randomBytes(24).toString("hex");
  let stack: string | undefined;
  try {
    await copyPlugin(folder, copy, list);
    // As root the plugin gets a user of its own, who has to reach the copy and this program.
    await chmod(root, 0o711);
    const changeUser = options.auditor === undefined && SHARED_READS.every(othersReach);
    const configuration = await trialConfiguration(options.configFile, key, changeUser);
    const doubles = await addDoubles(folder, dirname(copy), copy);
    const runtime = await createRuntime({
      configuration,
      root,
      logger,
      standIns: { plugin: doubles, advice },
      ...(options.auditor && { auditor: options.auditor, permissionModel: "audited" }),
      onCall: ({ fault }) => (stack = fault && stackOf(fault)),
    });
    try {
      if (doubles !== undefined) await loadDoubles(runtime, doubles, own);
      const url = await runtime.listen();
      const slot = runtime.catalogue.find(name);
      const status = slot?.status();
      if (slot === undefined || status?.state !== "loaded") {
        throw deploymentError(
          "unhealthy",
          own(`The plugin ${name} does not load: ${status?.error ?? "it was not found"}`),
        );
      }
      const state = await fetch(url + runtimePaths().health(), { headers: { "x-plugin-key": key } });
      const { checks } = (await state.json()) as { checks: Record<string, HealthCheck> };
      const outcomes: TrialOutcome[] = [];
      for (const entry of cases) {
        const started = performance.now();
        const answer = await callOverHttp({ url, key }, name, entry.action, entry.payload ?? {});
        const answered = (await answer.json()) as Record<string, unknown>;
        if (answer.status !== 200) for (const field of ["msg", "error"]) answered[field] = own(String(answered[field]));
        const reason = judge(entry, answer.status, answered);
        outcomes.push({
          name: entry.name ?? entry.action,
          passed: reason === undefined,
          answer: answer.status === 200 ? answered["result"] : answered,
          ...(reason !== undefined && { reason: own(reason), ...(stack !== undefined && { stack: own(stack) }) }),
          duration_ms: Math.round((performance.now() - started) * 10) / 10,
        });
      }
      const health = checks[`plugin:${name}`] ?? { status: "healthy", message: "ok", duration_ms: 0 };
      health.message = own(health.message);
      return { plugin: name, version: status.version ?? "", mode: status.mode ?? "", health, outcomes };
    } finally {
      await runtime.close();
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
