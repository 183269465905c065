import { existsSync } from "node:fs";
import { usageError } from "../contract/errors.ts";
import { closestTo } from "../support/suggestion.ts";
import { isSameHub, type Layer } from "./layers.ts";
import { readUserFile, userFile, writeUserFile } from "./user-file.ts";

/** Hubs that a person has logged in to, with their keys: a file of mode 0600 in the user's configuration folder. */

export interface Context {
  hub_url: string;
  api_key: string;
}

export interface Contexts {
  v: 1;
  /** Name of the context that commands use; null before the first login. */
  current: string | null;
  contexts: Readonly<Record<string, Context>>;
}

const NONE: Contexts = { v: 1, current: null, contexts: {} };

/** Returns the path of the file. */
export const contextsFile = (environment?: NodeJS.ProcessEnv): string => userFile("contexts.json", environment);

/**
 * Reads the file; a missing one is empty.
 *
 * @throws UsageError `credential_unreadable` when others may read it, or `sealift login` did not write it
 */
export const readContexts = (file = contextsFile()): Contexts =>
  readUserFile(
    file,
    (found) => found.v === 1 && typeof found.contexts === "object" && found.contexts !== null,
    "Remove it and log in again.",
  ) ?? NONE;

/** Replaces the file. */
export const writeContexts = (contexts: Contexts, file = contextsFile()): Promise<void> =>
  writeUserFile(file, contexts);

/** Returns the context with a name. @throws UsageError `usage` */
export function contextNamed({ contexts }: Contexts, name: string): Context {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found !== undefined) return found;
  const meant = closestTo(name, Object.keys(contexts));
  throw usageError("usage", `There is no context ${JSON.stringify(name)}.`, {
    hint:
      meant === undefined
        ? "`sealift context list` shows them; `sealift login URL` makes one."
        : `Did you mean ${meant}?`,
  });
}

/**
 * Returns the options that contexts give to a command, with the lowest priority. A key is sent only to the hub that it
 * was stored for.
 *
 * @param given hub that the command is otherwise given
 * @param name of the context that a person requested
 * @throws UsageError `usage` for an unknown name
 */
export function contextLayer(stored: Contexts, given: string | undefined, name: string | undefined): ContextLayer {
  const chosen = name ?? (given === undefined ? stored.current : null) ?? undefined;
  const known = Object.entries(stored.contexts).find(
    ([, { hub_url: url }]) => given !== undefined && isSameHub(url, given),
  );
  const found = chosen === undefined ? known : ([chosen, contextNamed(stored, chosen)] as const);
  if (found === undefined) return { name: undefined, get: () => undefined, label: (option) => option };
  const [label, { hub_url: url, api_key: key }] = found;
  if (given !== undefined && !isSameHub(given, url))
    throw usageError("usage", `--context ${label} is the hub ${url}, and --hub-url is ${given}.`, {
      hint: "Give one of them.",
    });
  const values: Readonly<Record<string, string>> = { "hub-url": url, "api-key": key };
  return {
    name: label,
    get: (option) => values[option],
    label: (option) => `${option} of the context ${label}`,
    keyHub: url,
  };
}

/**
 * Returns the context below other layers; undefined before the first login.
 *
 * @throws UsageError `usage` as {@link contextLayer}, and where only the file of an untrusted folder names the hub:
 *   its author may have meant another than the current context
 */
export function contextBelow(layers: readonly Layer[]): ContextLayer | undefined {
  const first = (name: string): string | undefined => {
    for (const layer of layers) {
      const given = layer.get(name);
      if (given !== undefined) return typeof given === "string" ? given : undefined;
    }
    return undefined;
  };
  const [name, hubUrl] = [first("context"), first("hub-url")];
  if (name === undefined && hubUrl === undefined && layers.some(({ withheld }) => withheld?.has("context")))
    throw usageError("usage", "The sealift.yaml of this folder names a context, and this folder is not trusted.", {
      hint: "Say which hub you mean with --context or --hub-url, or read the file and run `sealift trust-folder`.",
    });
  if (name === undefined && !existsSync(contextsFile())) return undefined;
  return contextLayer(readContexts(), hubUrl, name);
}

export interface ContextLayer extends Layer {
  /** Name of the context of these values, if any. */
  name: string | undefined;
}
