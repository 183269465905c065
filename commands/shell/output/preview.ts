import type { Emit } from "../../../lib/agent/base/events.ts";
import type { Preview, PreviewedChanges } from "../../../lib/agent/deployment/preview.ts";
import type { DeployOptions } from "../../../lib/agent/deployment/run.ts";
import type { Source } from "../../../lib/agent/sources/source.ts";
import { interruptible } from "../base.ts";
import { deployLines } from "./deploy-lines.ts";
import type { Surroundings } from "./deployment.ts";
import { differenceLine } from "./differences.ts";

/** Most files listed by name in a preview. */
const SHOWN = 40;
/** Most differences in the result event. */
const MAX_DIFFERENCES = 1000;

type Sizes = (bytes: number) => string;

/** Reports what a deployment would do. @returns the exit code */
export async function showDeploymentPreview(
  source: Source,
  options: DeployOptions,
  surroundings: Surroundings,
): Promise<number> {
  const { preview } = await import("../../../lib/agent/deployment/preview.ts");
  const perform = (signal: AbortSignal, emit: Emit) => preview(source, { ...options, signal }, emit);
  return showPreview({ perform, supervisor: options.supervisor.name }, surroundings);
}

/** Functions that make and describe a preview. */
interface Previewed {
  perform: (signal: AbortSignal, emit: Emit) => Promise<Preview>;
  supervisor: string;
  /** Words before the version, and between it and the running one. */
  words?: [string, string];
}

/**
 * Reports what a deployment or a rollback would do.
 *
 * @returns the exit code that it would have, as far as can be known
 */
export async function showPreview(
  { perform, supervisor, words = ["would deploy", "over"] }: Previewed,
  { json, print, stderr, fail, done }: Surroundings,
): Promise<number> {
  const { sizeText } = await import("../../../lib/support/size-text.ts");
  using interrupt = interruptible();
  const lines = await deployLines(stderr);
  const emit = json ? () => undefined : lines.emit;
  const { changes, error, ...facts } = await perform(interrupt.signal, emit);
  lines.close();
  if (error !== undefined) return fail(error, { dry_run: true, ...facts });
  if (!json) for (const line of previewLines(facts, changes, { supervisor, words, sizeText })) print.line(line);
  return done({ dry_run: true, ...facts, ...(changes !== undefined && recordOf(changes, supervisor)) });
}

function recordOf({ differences, ...changes }: PreviewedChanges, supervisor: string): Record<string, unknown> {
  return {
    ...changes,
    supervisor,
    files: differences && filesIn(differences),
    differences: differences?.slice(0, MAX_DIFFERENCES) ?? null,
    differences_left_out: Math.max(0, (differences?.length ?? 0) - MAX_DIFFERENCES),
  };
}

function filesIn(differences: NonNullable<PreviewedChanges["differences"]>) {
  const counts = { added: 0, changed: 0, removed: 0 };
  for (const difference of differences) if (difference.what === "file") counts[difference.change]++;
  return counts;
}

function* previewLines(
  { version, previous_version: previous }: Pick<Preview, "version" | "previous_version">,
  changes: PreviewedChanges | undefined,
  { supervisor, words: [would, over], sizeText }: Required<Omit<Previewed, "perform">> & { sizeText: Sizes },
): Generator<string, undefined> {
  if (changes === undefined) {
    yield `unchanged: ${version} is already running`;
    return;
  }
  const { fetched, installed, adopted, removed, env_files, differences, steps, collected } = changes;
  yield `${would} ${version}${previous === null ? "" : ` ${over} ${previous}`}`;
  if (fetched !== null) {
    const whole = fetched.full_bytes === null ? "" : ` instead of ${sizeText(fetched.full_bytes)}`;
    const delta = fetched.delta_from === null ? "" : ` as a delta from ${fetched.delta_from}${whole}`;
    yield `  fetch     ${sizeText(fetched.bytes)}${delta}`;
  }
  const listed: [string, string[]][] = [
    ["install", installed],
    ["adopt", adopted],
    ["remove", removed],
    ["env file", env_files],
    ["collect", collected],
  ];
  for (const [what, names] of listed) if (names.length > 0) yield `  ${what.padEnd(8)}  ${names.join(", ")}`;
  yield `  steps     ${supervisor === "none" ? "no supervisor" : `supervisor ${supervisor}`}`;
  for (const { id, action, plugin, after_switch: after } of steps)
    yield `    ${action}${plugin === null ? "" : ` ${plugin}`} (${id})${after ? ", after the switch" : ""}`;
  if (differences === null) {
    yield "  files     unknown: one of the releases has no list of its files";
    return;
  }
  const { added, changed, removed: gone } = filesIn(differences);
  yield `  files     ${added} added, ${changed} changed, ${gone} removed`;
  for (const difference of differences.slice(0, SHOWN)) yield `    ${differenceLine(difference, sizeText)}`;
  if (differences.length > SHOWN)
    yield `    and ${differences.length - SHOWN} more: --json names up to ${MAX_DIFFERENCES}`;
}
