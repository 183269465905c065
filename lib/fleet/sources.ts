import { resolve } from "node:path";
import { usageError } from "../contract/errors.ts";
import type { ValueSource } from "../contract/files/fleet.ts";
import { MAX_SETTINGS_BYTES } from "../contract/settings/limits.ts";
import { quotedAlike } from "../releases/settings-text.ts";
import { commandOutput } from "../support/command-output.ts";
import { readFault, readFileUpTo } from "../support/files.ts";

/** Time limit of a command that prints a value, in milliseconds. */
const COMMAND_TIMEOUT_MS = 30_000;

/** Reader of the values of a fleet.yaml. */
interface SourceOptions {
  /** Path of the file in messages. */
  file: string;
  /** Folder at which relative paths start, and in which commands run. */
  folder: string;
  env: NodeJS.ProcessEnv;
  /** Whether commands run. A value of a command that does not is undefined. */
  runsCommands: boolean;
  commandTimeoutMs?: number;
}

/** Reads values from where a fleet.yaml says they are. It asks each file, variable and command once. */
export class ValueSources {
  readonly #options: SourceOptions;
  readonly #read = new Map<string, Promise<string | undefined>>();

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  /**
   * Returns a value, or undefined for that of a command that does not run.
   *
   * @param place of the value in the file, such as `settings.0.apps.web.NAME`
   * @throws UsageError `settings_unreadable`, which never holds the value
   */
  async value(source: Exclude<ValueSource, null>, place: string): Promise<string | undefined> {
    const fault = (why: string, hint: string, cause?: unknown) =>
      usageError("settings_unreadable", `${this.#options.file}: ${place}: ${why}.`, {
        ...{ hint, ...(cause !== undefined && { cause }) },
      });
    const key = JSON.stringify(source);
    let reading = this.#read.get(key);
    if (reading === undefined) this.#read.set(key, (reading = this.#readNew(source)));
    const value = await reading.catch((error: Error) => {
      throw fault(error.message, "Nothing was uploaded. Mend it, and run the command again.", error);
    });
    if (value === undefined || quotedAlike(value) !== undefined) return value;
    throw fault(
      "systemd and Node would read the value differently, however it is quoted",
      "It holds control characters, or both kinds of quotes with a backslash, # or line break. Encode it, such as with base64.",
    );
  }

  /** @throws Error whose message says what is wrong */
  async #readNew(source: Exclude<ValueSource, null>): Promise<string | undefined> {
    if (typeof source === "string") return source;
    const { folder, env, runsCommands, commandTimeoutMs: timeoutMs = COMMAND_TIMEOUT_MS } = this.#options;
    if ("env" in source) {
      const value = env[source.env];
      if (value === undefined) throw new Error(`the variable ${source.env} is not set`);
      return value;
    }
    if ("file" in source) {
      const path = resolve(folder, source.file);
      const bytes = await readFileUpTo(path, MAX_SETTINGS_BYTES).catch((error: unknown) => {
        throw new Error(`${path} cannot be read: ${readFault(error)}`, { cause: error });
      });
      return textOf(bytes, path);
    }
    if (!runsCommands) return undefined;
    const [program, ...words] = source.command as [string, ...string[]];
    const limits = { timeoutMs, maxBytes: MAX_SETTINGS_BYTES, cwd: folder };
    const bytes = await commandOutput([program, ...words], limits).catch((error: Error) => {
      throw new Error(`the command ${program} ${error.message}`, { cause: error });
    });
    return textOf(bytes, `what ${program} printed`);
  }
}

/** Returns the text of bytes without one final line break. @throws Error for bytes that are no UTF-8 */
function textOf(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch (error) {
    throw new Error(`${name} is not text in UTF-8`, { cause: error });
  }
}
