import { Command, Option } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { asSealiftError, type SealiftError } from "../../lib/contract/errors.ts";
import { printableLines } from "../../lib/support/printable.ts";
import type { Settings } from "../../lib/support/settings.ts";

/**
 * Every option of every command: the keys that `sealift.yaml` may have. A new option is added here, or the file that names it is refused.
 */
export const OPTION_NAMES: ReadonlySet<string> = new Set([
  ...[
    "hub-url",
    "api-key",
    "timeout",
    "project-root",
    "host-id",
    "data-dir",
    "listen",
    "public-url",
    "database-url",
    "blob-url",
  ],
  ...[
    "kek-file",
    "max-artifact-size",
    "project-id",
    "project-name",
    "version",
    "signing-key",
    "level",
    "output",
    "include",
  ],
  ...[
    "deployment-credential",
    "signer-public-key",
    "trust-on-first-use",
    "supervisor",
    "supervisor-name",
    "systemd-scope",
  ],
  ...[
    "k8s-namespace",
    "k8s-context",
    "runtime-url",
    "plugin-key",
    "plugin-secret-key",
    "provisioners-config",
    "notifiers-config",
  ],
  ...[
    "keep-releases",
    "keep-reports",
    "allow-downgrade",
    "symlinks",
    "lock-wait",
    "kind",
    "signing-secret",
    "install-plan",
  ],
  ...[
    "max-entries",
    "max-entry-size",
    "max-total-size",
    "max-ratio",
    "max-depth",
    "max-name-length",
    "plugins-dir",
    "git-token",
  ],
  ...[
    "repo",
    "visibility",
    "interval",
    "once",
    "tui",
    "screen-reader",
    "since",
    "log-level",
    "rate-limit",
    "import-host",
    "report-retention",
    "language",
    "mode",
    "directory",
    "call",
    "payload",
    "integration",
  ],
]);

/** What a command prints on stdout; stderr is everything else (docs/options.md). */
export interface Output {
  /** One line of data, without what a terminal would obey: it may hold words of hubs, hosts and plugins. */
  line: (text: string) => void;
  /** One NDJSON event of version 1. */
  event: (event: Record<string, unknown> & { event: string }) => void;
}

const camelToKebab = (name: string): string =>
  name.replace(/[A-Z]/g, (part, at: number) => (at === 0 ? part : `-${part.toLowerCase()}`));

/**
 * The base of every command: `--json` and `--config`, settings from flags, environment and file, signals, and one way to end: the error's
 * code gives the exit code.
 */
export abstract class SealiftCommand extends Command {
  json = Option.Boolean("--json", false, { description: "Print JSON lines on stdout; the last one is the result" });
  config = Option.String("--config", { description: "Configuration file (default: sealift.yaml, when it exists)" });

  /** The command's own work. @returns the exit code */
  protected abstract run(settings: Settings): Promise<number>;

  protected readonly output: Output = {
    line: (text) => void this.context.stdout.write(`${printableLines(text)}\n`),
    event: (event) => void this.context.stdout.write(`${JSON.stringify({ v: 1, ...event })}\n`),
  };

  /** A remark for people; silent with `--json`. */
  protected note(text: string): void {
    if (!this.json) this.context.stderr.write(`${printableLines(text)}\n`);
  }

  override async execute(): Promise<number> {
    try {
      return await this.run(await this.loadSettings());
    } catch (thrown) {
      return this.fail(asSealiftError(thrown));
    }
  }

  /** Settings from flags, environment and configuration file. @throws UsageError `config_invalid` */
  protected async loadSettings(): Promise<Settings> {
    const { Settings } = await import("../../lib/support/settings.ts");
    return Settings.load({ flags: this.flags(), configFile: this.config, known: OPTION_NAMES });
  }

  /** Tells about an error, for people or as the result event. @returns its exit code */
  protected fail(error: SealiftError, result: Record<string, unknown> = {}): number {
    if (this.json)
      this.output.event({
        event: "result",
        status: "failed",
        ...result,
        exit_code: error.exitCode,
        error: error.toJSON(),
      });
    else this.context.stderr.write(describeError(error));
    return error.exitCode;
  }

  /** The result event of a command that ended well. @returns 0 */
  protected done(result: Record<string, unknown>): number {
    if (this.json) this.output.event({ event: "result", status: "success", exit_code: EXIT.done, ...result });
    return EXIT.done;
  }

  /** What a renderer needs of this command. */
  protected surroundings() {
    return {
      json: this.json,
      output: this.output,
      stderr: this.context.stderr as NodeJS.WriteStream,
      fail: this.fail.bind(this),
      done: this.done.bind(this),
    };
  }

  /** Options by their names on the command line. */
  protected flags(): Record<string, string | boolean | string[] | undefined> {
    const flags: Record<string, string | boolean | string[] | undefined> = {};
    for (const [property, value] of Object.entries(this)) {
      if (typeof value === "string" || typeof value === "boolean" || Array.isArray(value))
        flags[camelToKebab(property)] = value as string;
    }
    return flags;
  }
}

/** An error as people read it: what happened, what to do; a defect shows where. */
export function describeError(error: SealiftError): string {
  const lines = [`error (${error.code}): ${error.message}`];
  if (error.hint !== undefined) lines.push(`  ${error.hint}`);
  if (error.code === "internal" && error.cause instanceof Error && error.cause.stack !== undefined)
    lines.push(error.cause.stack);
  return `${printableLines(lines.join("\n"))}\n`;
}

/** A signal that SIGINT and SIGTERM abort; a second SIGINT ends the process at once. Dispose of it to restore the defaults. */
export function interruptible(): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted && name === "SIGINT") process.exit(EXIT.interrupted);
    controller.abort();
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
}
