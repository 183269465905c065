import { SealiftError, usageError } from "../contract/errors.ts";
import { readFault, readKeyFile, readKeyInput } from "../support/files.ts";
import { isSameHub, KEY_HUB_VARIABLE, type Layer } from "./layers.ts";
import { type Need, type Option, type OptionTable, type Values, variableOf, yamlKeyOf } from "./option.ts";

/** Value, and the name of its source in messages. */
interface SourcedValue {
  value: unknown;
  label: string;
  /** Only hub that an API key may be sent to. */
  keyHub?: string | undefined;
}

/**
 * Returns the values of a command's options: the first layer that sets an option counts, else its default. Reports all
 * faults together.
 *
 * @param hubUrl hub that the command uses, where no option says it
 * @throws UsageError `usage`, or `credential_unreadable` when nothing else is wrong
 */
export async function resolveOptions<T extends OptionTable>(
  table: T,
  layers: readonly Layer[],
  hubUrl?: string,
): Promise<Values<T>> {
  const faults: SealiftError[] = [];
  const missing: Option[] = [];
  const values: Record<string, unknown> = {};
  const attempt = async (key: string, option: Option): Promise<void> => {
    try {
      const found = option.fromBytes === undefined ? plain(option, layers) : await secret(option, layers);
      if (found === undefined && isRequired(option, values)) missing.push(option);
      if (found !== undefined) await checkForm(option, found);
      if (found !== undefined && option.name === "api-key") checkHubOfKey(found, values["hubUrl"] ?? hubUrl);
      values[key] = found?.value;
    } catch (error) {
      if (!(error instanceof SealiftError)) throw error;
      faults.push(error);
    }
  };
  const entries = Object.entries(table);
  // Conditions depend on options that are not secrets.
  for (const [key, option] of entries) if (option.fromBytes === undefined) values[key] = quietly(option, layers);
  for (const [key, option] of entries) {
    const unneeded = option.fromBytes !== undefined && option.requiredWhen?.(values) === false;
    if (!unneeded) await attempt(key, option);
  }
  if (missing.length > 0) faults.unshift(missingError(missing));
  throwFaults(faults);
  return values as Values<T>;
}

/** Returns the value of one option that is not a secret, or its default. @throws UsageError `usage` */
export const plainValue = <T>(option: Option<T>, layers: readonly Layer[]): T | undefined =>
  plain(option, layers)?.value as T | undefined;

/** Tells whether a command needs an option, judged by the values that are not secrets. */
export function needOf(table: OptionTable, key: string, layers: readonly Layer[]): Need {
  const { required, requiredWhen } = table[key]!;
  if (required || requiredWhen === undefined) return required;
  const plain = Object.entries(table).filter(([, { fromBytes }]) => fromBytes === undefined);
  return requiredWhen(Object.fromEntries(plain.map(([other, option]) => [other, quietly(option, layers)])));
}

const isRequired = (option: Option, values: Record<string, unknown>): boolean =>
  option.required || option.requiredWhen?.(values) === true;

/** Returns a value for the conditions of other options; its own faults are reported in its turn. */
function quietly(option: Option, layers: readonly Layer[]): unknown {
  try {
    return plain(option, layers)?.value;
  } catch {
    return undefined;
  }
}

function plain(option: Option, layers: readonly Layer[]): SourcedValue | undefined {
  for (const layer of layers) {
    const given = layer.get(option.name);
    if (given === undefined) continue;
    const label = layer.label(option.name);
    try {
      return { value: option.parse(given), label };
    } catch (error) {
      throw usageError("usage", `${label} ${(error as Error).message}.`, { cause: error });
    }
  }
  return option.default === undefined ? undefined : { value: option.default, label: option.flag };
}

async function checkForm(option: Option, { value, label }: SourcedValue): Promise<void> {
  if (option.form === undefined) return;
  const checked = (await option.form()).safeParse(value);
  if (checked.success) return;
  const { faultText } = await import("../support/documents/fault-words.ts");
  throw usageError("usage", `${label} ${JSON.stringify(value)} ${faultText(checked.error.issues[0]!)}.`);
}

/** Rejects sending an API key to another hub than the one it is bound to. */
function checkHubOfKey({ label, keyHub }: SourcedValue, hubUrl: unknown): void {
  if (keyHub === undefined || typeof hubUrl !== "string" || isSameHub(keyHub, hubUrl)) return;
  throw usageError("usage", `${label} is a key for the hub ${keyHub}, and this command asks ${hubUrl}.`, {
    hint: `Give the key of that hub, or the hub of that key (${KEY_HUB_VARIABLE}, or the login).`,
  });
}

/** Finds a secret. Within one layer the secret itself wins over the file that holds it. */
async function secret(option: Option, layers: readonly Layer[]): Promise<SourcedValue | undefined> {
  for (const layer of layers) {
    const given = layer.get(option.name);
    if (typeof given === "string" || typeof given === "number") {
      const label = layer.label(option.name);
      return {
        value: valueOf(option, notEmpty(Buffer.from(String(given)), label), label),
        label,
        keyHub: layer.keyHub,
      };
    }
    const file = layer.get(`${option.name}-file`);
    if (typeof file !== "string") continue;
    const label = layer.label(`${option.name}-file`);
    const content = assigned(await readSecret(file, option.name, label), option, label);
    return { value: valueOf(option, content, label), label, keyHub: layer.keyHub };
  }
  return undefined;
}

function valueOf(option: Option, content: Buffer, label: string): unknown {
  try {
    return option.fromBytes!(content);
  } catch (error) {
    throw usageError("credential_unreadable", `${label} ${(error as Error).message}.`, { cause: error });
  }
}

/**
 * Matches a line of a file of variables, as `sealift key create` prints it, systemd reads it, and a shell sources it.
 */
const ASSIGNMENT = /^(?:export +)?(SEALIFT_[A-Z0-9_]+)=(["']?)(.*)\2 *\r?$/gm;

/** Returns the secret in a file: all of it, or, where the file assigns variables, the value of the option's own. */
function assigned(content: Buffer, { name }: Option, label: string): Buffer {
  const found = new Map(
    content
      .toString("latin1")
      .matchAll(ASSIGNMENT)
      .map(([, key, , value]) => [key!, value!]),
  );
  if (found.size === 0) return content;
  const value = found.get(variableOf(name));
  if (value !== undefined) return notEmpty(Buffer.from(value, "latin1"), label);
  throw usageError(
    "credential_unreadable",
    `${label} assigns ${joined([...found.keys()])}, and not ${variableOf(name)}.`,
    {
      hint: "Give a file that holds the secret alone, or one that `sealift key create` has printed.",
    },
  );
}

/** Content of standard input, and the option that read it: a process can read it only once. */
const stdin: { option?: string; content?: Promise<Buffer> } = {};

/** Reads a secret. @param path of the file; `-` is standard input */
async function readSecret(path: string, option: string, label: string): Promise<Buffer> {
  // Without PEM around it, a public key looks like the seed of a private one.
  if (path.endsWith(".pub")) {
    throw usageError("key_file_invalid", `${label} ${path} is a public key by its name, and a secret is needed.`, {
      hint: "Give the other file of the pair, such as signer.key.",
    });
  }
  try {
    if (path !== "-") return notEmpty(await readKeyFile(path), `${label} ${path}`);
    if (stdin.option !== undefined && stdin.option !== option)
      throw new Error(`standard input is already used by --${stdin.option}-file`);
    stdin.option = option;
    stdin.content ??= readKeyInput();
    return notEmpty(await stdin.content, label);
  } catch (error) {
    if (error instanceof SealiftError) throw error;
    throw usageError("credential_unreadable", `${label} ${path} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: `Check the path, or give the secret as ${variableOf(option)}.`,
    });
  }
}

function notEmpty(value: Buffer, label: string): Buffer {
  if (value.length === 0)
    throw usageError("credential_unreadable", `${label} is empty.`, { hint: "It must hold the secret, on one line." });
  return value;
}

const LOGIN = "Or log in once: `sealift login URL` remembers the hub and your key.";

/** Returns one error that names everything that is missing, and how it can be given. */
function missingError(options: readonly Option[]): SealiftError {
  const names = options.map(({ flag, name, fileOnly }) => (fileOnly ? `--${name}-file` : flag));
  const hints = new Set(options.some(({ missingHint }) => missingHint === undefined) ? [waysToGive(options)] : []);
  for (const { missingHint } of options) if (missingHint !== undefined) hints.add(missingHint);
  if (options.some(({ name }) => name === "hub-url")) hints.add(LOGIN);
  const verb = names.length === 1 ? "is" : "are";
  return usageError("usage", `${joined(names)} ${verb} missing.`, { hint: [...hints].join(" ") });
}

function waysToGive(options: readonly Option[]): string {
  const general = options.filter(({ missingHint }) => missingHint === undefined);
  const [{ name, kind }] = general as [Option];
  const key = yamlKeyOf(name);
  if (general.length > 1)
    return `Each is a flag, a variable such as ${variableOf(name)}, or a key such as ${key} of sealift.yaml.`;
  return kind === "secret"
    ? `Give it as ${variableOf(name)}, as --${name}-file PATH (- is standard input), or as a systemd credential named ${name}.`
    : `Give it as a flag, as ${variableOf(name)}, or as ${key} in sealift.yaml.`;
}

/** Joins names: `a, b and c`. */
const joined = (names: readonly string[]): string =>
  names.length === 1 ? names[0]! : `${names.slice(0, -1).join(", ")} and ${names.at(-1)!}`;

/** Splits an error that may list several faults of options. */
export function singleFaults(error: SealiftError): SealiftError[] {
  return error.cause instanceof AggregateError ? (error.cause.errors as SealiftError[]) : [error];
}

/** Throws the faults, if any. @throws UsageError the only fault, or one that lists them all */
function throwFaults(faults: readonly SealiftError[]): void {
  const [first, ...others] = faults;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  const messages = faults.map(({ message }) => message);
  const hint = faults.find((fault) => fault.hint !== undefined)?.hint;
  throw usageError(
    others.every(({ code }) => code === first.code) ? first.code : "usage",
    `${faults.length} options are not as they must be:\n${messages.map((message) => `  - ${message}`).join("\n")}`,
    { faults: messages, cause: new AggregateError(faults), ...(hint !== undefined && { hint }) },
  );
}
