import { isDeepStrictEqual } from "node:util";
import { parseForeignPlan } from "../../lib/agent/base/documents.ts";
import { artifactError } from "../../lib/contract/errors.ts";
import { descriptor } from "../../lib/contract/files/descriptor.ts";
import { excessOfYaml } from "../../lib/support/documents/limits.ts";
import { parseYamlText } from "../../lib/support/documents/parse-yaml.ts";
import { parseOnThread } from "../../lib/support/documents/yaml-thread.ts";
import { parseForeignYaml } from "../../lib/support/yaml-file.ts";
import { faultOfError } from "./error-text.ts";
import { type Cases, fuzzEach, type Outcome, type Verdict } from "./outcome.ts";
import { mutated, Random } from "./random.ts";
import { type Json, notPlain, someValue } from "./values.ts";
import { yamlOf } from "./yaml-writer.ts";

/** Longest processor time of a document within its limits, in milliseconds, of this thread alone. */
const MAX_CPU_MS = 3_000;
/** Cases per thread: one for each case would take longer than all the cases. */
const THREAD_EVERY = 200;

const PLAN = `format_version: "1"
project_id: prj_0123456789
version: 1.0.0
steps:
  - {id: install, action: install_plugin, plugin: a}
  - id: env
    action: write_env
    plugin: a
    from: .env.template
  - {id: up, action: healthcheck, plugin: a, timeout: 10, retries: 2, depends_on: [env]}
`;
const DESCRIPTOR = `name: a
version: 1.0.0
entry_point: src/main.mjs
execution_mode: sandboxed
dependencies: &none []
permissions:
  - {resource: cache, actions: [get, set]}
environment: {required: [PORT], optional: *none}
`;

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Makes a document: of any value, or a plan or descriptor; sound, or with a few bytes changed. */
function someYaml(random: Random): { text: string; value?: Json } {
  if (random.once(2)) {
    const value = someValue(random);
    const text = yamlOf(value, random);
    return random.once(3) ? { text, value } : { text: changed(text, random) };
  }
  const text = random.pick([PLAN, DESCRIPTOR]);
  return { text: random.once(20) ? text : changed(text, random) };
}

/** Pieces for which parsers have special rules. */
const PIECES = ["&a ", "*a", "!!int ", "<<: *a", "? ", "- - - ", "[[[[", "{a: ", "|\n", ">-\n", "%YAML 1.1\n", "---\n"];

function changed(text: string, random: Random): string {
  let bytes = mutated(Buffer.from(text), random, 8);
  for (let pieces = random.below(3); pieces > 0; pieces--) {
    const at = random.below(bytes.length);
    const piece = random.pick(PIECES).repeat(random.once(20) ? 500 : 1);
    bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(piece), bytes.subarray(at)]);
  }
  return bytes.toString("utf8");
}

/**
 * Judges a document: it must be rejected, or read in time as plain data, alike by this thread and by another one.
 *
 * @param value its content, if known
 */
export async function judgeYaml(text: string, value?: Json, onThread = false): Promise<Verdict> {
  if (excessOfYaml(text) !== undefined)
    return value === undefined ? { accepted: false } : { why: "a small document is beyond the limits" };
  const began = cpuMs();
  const parsed = parseYamlText(text);
  const took = cpuMs() - began;
  if (took > MAX_CPU_MS) return { why: `it takes ${Math.round(took)} ms to read` };
  if (onThread) {
    const other = await parseOnThread(text);
    const same =
      "value" in parsed ? "value" in other && isDeepStrictEqual(other.value, parsed.value) : "faults" in other;
    if (!same) return { why: "a thread of its own reads it in another way" };
  }
  const refused =
    (await faultOf(() => parseForeignPlan(text, "install.yaml"))) ?? (await faultOf(() => readDescriptor(text)));
  if (refused !== undefined) return { why: refused };
  if (!("value" in parsed))
    return value === undefined
      ? { accepted: false }
      : { why: `it is refused: ${parsed.faults.join("; ").slice(0, 300)}` };
  const strange = notPlain(parsed.value);
  if (strange !== undefined) return { why: strange };
  if (value !== undefined && !isDeepStrictEqual(parsed.value, value)) return { why: "it is read as another value" };
  return { accepted: true };
}

const invalid = (message: string, faults: string[]) => artifactError("descriptor_invalid", message, { faults });
const readDescriptor = (text: string): Promise<unknown> => parseForeignYaml(text, descriptor, "plugin.yaml", invalid);

async function faultOf(read: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    return faultOfError(error);
  }
}

/** Reads many random documents. */
export const fuzzYaml = (cases: Cases): Promise<Outcome> =>
  fuzzEach(cases, async (at) => {
    const { text, value } = someYaml(new Random(at));
    const verdict = await judgeYaml(text, value, at % THREAD_EVERY === 0);
    return { ...verdict, kind: "yaml", bytes: Buffer.from(text) };
  });
