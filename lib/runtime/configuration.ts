import { parse as parseYamlText } from "yaml";
import * as z from "zod";
import { usageError } from "../contract/errors.ts";
import { type Integration, integration } from "../contract/files/integration.ts";
import { faultsOf } from "../support/documents/faults.ts";
import { YAML_LIMITS } from "../support/documents/limits.ts";
import { safelyParsed } from "../support/documents/safe-parse.ts";
import { readFault, readTextFile } from "../support/files.ts";
import { systemdCredential } from "../support/systemd/credential.ts";
import { parseYaml } from "../support/yaml-file.ts";

/** Reads `integration.yaml` (docs/contract/runtime.md#configuration). */

export interface Configuration {
  settings: Integration;
  /** Environment variables with the runtime's own secrets, which no plugin gets. */
  reserved: ReadonlySet<string>;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Tree = Record<string, unknown>;

const OVERRIDE = "SEALIFT__";
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
/** Secrets from examples, which are refused in production, whatever their length. */
const DEFAULT_SECRET =
  /change[-_ ]?me|^(.)\1*$|^(secret|password|default|example|test|development|dev)|^plugin[-_ ]?key[-_ a-z]*\d{0,4}$/i;
/** Fewest characters of a secret; 24 characters of base64 are 144 bits. */
const MIN_SECRET_CHARACTERS = 24;

const isTree = (value: unknown): value is Tree => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Replaces `${VAR}` in every text of a tree, from the environment, else from a systemd credential of that name.
 *
 * @param faults collects `path: message`
 */
function expand(
  value: unknown,
  env: Environment,
  path: string,
  faults: string[],
  used: Map<string, Set<string>>,
): unknown {
  if (typeof value === "string") {
    return value.replace(VARIABLE, (_match, name: string) => {
      used.set(path, (used.get(path) ?? new Set()).add(name));
      const found = env[name] ?? systemdCredential(name, env);
      if (found === undefined) faults.push(`${path}: the variable ${name} is not set`);
      return found ?? "";
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => expand(item, env, `${path}.${index}`, faults, used));
  if (!isTree(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      expand(item, env, path === "" ? key : `${path}.${key}`, faults, used),
    ]),
  );
}

/** Finds the key that an override means, ignoring case: environment variables are upper case. */
function keyIn(tree: Tree, name: string): string {
  return Object.keys(tree).find((key) => key.toLowerCase() === name.toLowerCase()) ?? name.toLowerCase();
}

/**
 * Applies overrides: `SEALIFT__APP__SERVER__PORT=9000` sets `app.server.port`; the value is parsed as YAML, so numbers
 * and lists work.
 */
function override(tree: Tree, env: Environment): void {
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(OVERRIDE) || value === undefined) continue;
    const path = name.slice(OVERRIDE.length).split("__");
    const last = path.pop() ?? "";
    let section = tree;
    for (const part of path) {
      const key = keyIn(section, part);
      if (!isTree(section[key])) section[key] = {};
      section = section[key] as Tree;
    }
    const key = keyIn(section, last);
    // A secret that looks like a number is still a text.
    section[key] = /secret|key|url/i.test(last) ? value : parseScalar(value);
  }
}

function parseScalar(value: string): unknown {
  try {
    return parseYamlText(value) as unknown;
  } catch {
    return value;
  }
}

function weakSecrets({ app, plugins }: Integration): string[] {
  if (app.env !== "production") return [];
  const secrets: [string, string | undefined][] = [
    ["app.secret_key", app.secret_key],
    ["plugins.secret_key", plugins.secret_key],
  ];
  return secrets.flatMap(([name, secret]) => {
    if (secret === undefined) return [];
    if (DEFAULT_SECRET.test(secret)) return [`${name}: is a default, which env: production refuses`];
    if (secret.length < MIN_SECRET_CHARACTERS) return [`${name}: is shorter than ${MIN_SECRET_CHARACTERS} characters`];
    return [];
  });
}

/** Matches variables of this program itself, and what may hold a key for a trace collector. */
const OWN_VARIABLE = /^(?:SEALIFT_.*|OTEL_EXPORTER_OTLP_(?:TRACES_)?HEADERS)$/s;

/**
 * Takes the runtime's own secrets out of the environment of its process, which trusted plugins share.
 *
 * @param reserved names of variables with secrets, as {@link Configuration} has them
 */
export function hideSecrets(env: NodeJS.ProcessEnv, reserved: ReadonlySet<string>): void {
  for (const name of Object.keys(env)) if (reserved.has(name) || OWN_VARIABLE.test(name)) delete env[name];
}

const SECRET_PATH = /secret|password|^services\.(databases|cache)\b/;

/** Expands, overrides and checks a configuration. @throws SealiftError `config_invalid` with every fault */
export function resolveConfiguration(document: unknown, env: Environment, name = "the configuration"): Configuration {
  const faults: string[] = [];
  const used = new Map<string, Set<string>>();
  const tree = expand(document ?? {}, env, "", faults, used);
  if (!isTree(tree)) throw usageError("config_invalid", `${name} is not a mapping.`, { faults: ["not a mapping"] });
  override(tree, env);
  if (faults.length === 0) {
    const parsed = safelyParsed(integration, tree, { jitless: true });
    faults.push(
      ...(parsed.success ? weakSecrets(parsed.data) : faultsOf(parsed.error, { value: tree, schema: integration })),
    );
    if (parsed.success && faults.length === 0) {
      const secret = [...used].filter(([path]) => SECRET_PATH.test(path)).flatMap(([, names]) => [...names]);
      return { settings: parsed.data, reserved: new Set(secret) };
    }
  }
  throw usageError("config_invalid", `${name} is not valid: ${faults.join("; ")}`, {
    faults,
    hint: "Correct the file and start again; `sealift docs runtime` explains its keys.",
  });
}

/** Reads a configuration file with {@link resolveConfiguration}. */
export async function readConfiguration(path: string, env: Environment): Promise<Configuration> {
  let text: string;
  try {
    text = await readTextFile(path, YAML_LIMITS.maxBytes);
  } catch (error) {
    const fault = readFault(error);
    throw usageError("config_invalid", `${path} cannot be read: ${fault}.`, {
      faults: [fault],
      hint: "Name the runtime's configuration with --config.",
    });
  }
  return resolveConfiguration(parseYaml(text, z.unknown(), path), env, path);
}
