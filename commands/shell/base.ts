import { Command, type CommandClass } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { asSealiftError, type SealiftError } from "../../lib/contract/errors.ts";
import { common } from "../../lib/options/common.ts";
import { network } from "../../lib/options/connection.ts";
import { credentialsLayer, environmentLayer, flagsLayer, type Layer } from "../../lib/options/layers.ts";
import { type Given, type OptionTable, type Values, variableOf } from "../../lib/options/option.ts";
import type { OptionsFile } from "../../lib/options/options-file.ts";
import { printableJson, printableLine, printableLines, withoutPasswords } from "../../lib/support/printable.ts";
import { programVersion } from "../../lib/support/program-version.ts";
import { wantsTraces } from "../../lib/support/tracing/wanted.ts";
import { traced } from "../../lib/support/work.ts";
import { declareFlags, meansYes } from "./flags.ts";
import { withKeySource } from "./key-source.ts";
import { describeError, failedResult, withHint } from "./output/failure.ts";
import type { Print } from "./output/print.ts";
import { RecordWriter } from "./output/records.ts";

/**
 * Base of every command: options from flags, environment and file, and one way to end: the error's code determines the
 * exit code. Commands extend {@link withOptions} of their table.
 */
export abstract class SealiftCommand<T extends OptionTable = OptionTable> extends Command {
  /** Options of the command, with those of every command. */
  static readonly table: OptionTable = common;
  /** Name of a long-running program in traces. */
  static readonly service: string | undefined = undefined;
  /** Returns the fields of the records that the command lists with some options, if it lists something. */
  static readonly listed: ((options?: object) => readonly string[] | Promise<readonly string[]>) | undefined =
    undefined;

  /** All commands of the program, set before the command runs. */
  commands: readonly CommandClass[] = [];
  /** Values of the options, set before `run`. */
  protected options!: Values<T & typeof common>;
  /** Layers that give options, the strongest first. */
  protected layers: readonly Layer[] = [];

  constructor() {
    super();
    declareFlags(this, this.#own.table);
  }

  /** Hub of the command, if an argument names it. */
  protected get hubArgument(): string | undefined {
    return undefined;
  }

  #context: string | undefined;
  #file: OptionsFile | undefined;

  /** Does the command's own work. @returns the exit code */
  protected abstract run(): Promise<number>;

  protected readonly print: Print = {
    line: (text) => void this.context.stdout.write(`${printableLine(text)}\n`),
    text: (text) => void this.context.stdout.write(`${printableLines(text)}\n`),
    event: (event) => {
      if (this.#records !== undefined) this.#records.add(event);
      else this.context.stdout.write(`${printableJson({ v: 1, ...event })}\n`);
    },
  };
  #records: RecordWriter | undefined;

  /** Whether programs get records of their choice instead of events. */
  get #selects(): boolean {
    const { fields = [], csv = false } = (this.options as Partial<Values<typeof common>> | undefined) ?? {};
    return csv || fields.length > 0;
  }

  /** Prepares output as records where a program has requested it. @throws UsageError `usage` */
  async #openRecords(): Promise<void> {
    if (!this.#selects) return;
    const { csv, fields } = this.options as Values<typeof common>;
    const stdout = this.context.stdout as NodeJS.WriteStream;
    // A program gets every byte of CSV, a terminal no control characters.
    this.#records = new RecordWriter({ fields, csv, listed: await this.#own.listed?.(this.options) }, (line) =>
      stdout.write(`${stdout.isTTY ? printableLines(line) : line}\n`),
    );
  }

  /** Class of the command, with its static facts. */
  get #own(): typeof SealiftCommand {
    return this.constructor as typeof SealiftCommand;
  }

  /** Whether stdout is for programs; before the options are resolved, the flag and the variable decide. */
  protected get json(): boolean {
    const given =
      (this.options as { json: boolean } | undefined)?.json ?? this.given("json") ?? process.env[variableOf("json")];
    return this.#selects || meansYes(given);
  }

  /** Whether to show causes of errors, known before the options are resolved, whose own errors have causes, too. */
  get #isVerbose(): boolean {
    return meansYes(this.given("verbose") ?? process.env[variableOf("verbose")]);
  }

  /** Returns the value of a flag, by the option's name, from the command line. */
  protected given(name: string): Given | undefined {
    return (this as unknown as Record<string, Given | undefined>)[`--${name}`];
  }

  /** Whether stdout is a terminal: then tables have titles. */
  protected get isForPeople(): boolean {
    return !this.json && (this.context.stdout as NodeJS.WriteStream).isTTY === true;
  }

  /** Reports trouble that changes no result. A service that logs reports it there. */
  protected warn = (message: string): void => this.note(`warning: ${message}`);

  /** Prints a remark for people; silent with `--json`. */
  protected note(text: string): void {
    if (!this.json) this.context.stderr.write(`${printableLines(text)}\n`);
  }

  override async execute(): Promise<number> {
    try {
      await this.resolve();
      await this.#openRecords();
      if ("hubUrl" in this.#own.table) await this.#prepareHub();
      await using _tracing = await this.#trace();
      const code = await this.#runTraced();
      if (code === EXIT.done) this.#records?.close();
      return code;
    } catch (thrown) {
      return this.fail(asSealiftError(thrown));
    }
  }

  /** Turns traces on where the environment has a collector for them. */
  async #trace(): Promise<AsyncDisposable | undefined> {
    if (!wantsTraces(process.env)) return undefined;
    const { startTracing } = await import("../../lib/support/tracing/start.ts");
    const { service = "sealift" } = this.#own;
    return startTracing(process.env, { service, version: programVersion(), warn: (message) => this.warn(message) });
  }

  /** Runs the command in a span, except for a service, which never ends: its spans are those of its work. */
  #runTraced(): Promise<number> {
    const { service, paths = [] } = this.#own;
    if (service !== undefined) return this.run();
    return traced([this.cli.binaryName, ...(paths[0] ?? [])].join(" "), {}, async (span) => {
      const code = await this.run();
      span.set({ "process.exit.code": code });
      if (code !== EXIT.done) span.fail(`exit_${code}`);
      return code;
    });
  }

  /** Resolves the options from their sources. @throws UsageError with every fault */
  protected async resolve(): Promise<void> {
    const { resolveOptions } = await import("../../lib/options/resolve.ts");
    const flags = Object.fromEntries(
      Object.entries(this).flatMap(([key, value]) => (key.startsWith("--") ? [[key.slice(2), value as Given]] : [])),
    );
    const file = await this.fileLayer();
    this.layers = [
      flagsLayer(flags, this.#own.table),
      environmentLayer(process.env),
      credentialsLayer(process.env),
      ...(file === undefined ? [] : [file]),
    ];
    const kept = await this.keptLayers();
    const [typed, ...others] = this.layers;
    const [strong, weak] = [true, false].map((is) =>
      kept.filter(({ beatsEnvironment = false }) => beatsEnvironment === is),
    );
    this.layers = [typed!, ...strong!, ...others, ...weak!];
    if ("hubUrl" in this.#own.table) await this.#addContext();
    try {
      this.options = (await resolveOptions(this.#own.table, this.layers, this.hubArgument)) as Values<
        T & typeof common
      >;
    } catch (thrown) {
      throw this.#withheld === undefined ? thrown : withHint(asSealiftError(thrown), this.#withheld);
    }
    if (this.#withheld === undefined) return;
    if (this.json && !this.#selects) this.print.event({ event: "warning", message: this.#withheld });
    else this.context.stderr.write(`warning: ${printableLines(this.#withheld)}\n`);
  }

  /**
   * Message about the keys of the folder's file that would have counted if the folder were trusted; undefined without
   * any.
   */
  get #withheld(): string | undefined {
    if (this.#file === undefined || this.#file.withheld.size === 0) return undefined;
    const { guarded, withheld } = this.#file;
    const values = [...withheld].map((key) => `${key}: ${withoutPasswords(String(guarded.get(key)))}`).join(", ");
    return `The sealift.yaml of this folder gives ${values}. That does not count before you have read the file and run \`sealift trust-folder\`.`;
  }

  /** Returns options that are kept beside the command's target. Their layers have the lowest priority by default. */
  protected keptLayers(): Promise<readonly Layer[]> {
    return Promise.resolve([]);
  }

  /** Adds the hub of a login, with the lowest priority; for a command that asks no hub, only a named one. */
  async #addContext(): Promise<void> {
    const isNamed = this.layers.some((layer) => layer.get("context") !== undefined);
    const { needOf } = await import("../../lib/options/resolve.ts");
    if (!isNamed && needOf(this.#own.table, "hubUrl", this.layers) === false) return;
    const { contextBelow } = await import("../../lib/options/contexts.ts");
    const context = contextBelow(this.layers);
    if (context === undefined) return;
    if (this.layers.every((layer) => layer.get("hub-url") === undefined)) this.#context = context.name;
    this.layers = [...this.layers, context];
  }

  /** Reports which hub a command uses when neither its line nor its environment says so, and prepares the network. */
  async #prepareHub(): Promise<void> {
    const { hubUrl, caFile } = this.options as { hubUrl?: string; caFile?: string };
    const { prepareNetwork } = await import("./network.ts");
    await prepareNetwork({ caFile, usesTls: hubUrl?.startsWith("http:") !== true });
    if (this.#context !== undefined) this.note(`hub: ${hubUrl} (context ${this.#context})`);
  }

  /** Returns the file of options: `--config`, else the sealift.yaml of a folder. @throws UsageError `config_invalid` */
  protected async fileLayer(folder?: string): Promise<Layer | undefined> {
    const { optionsFile } = await import("../../lib/options/options-file.ts");
    const given = this.given("config") ?? process.env[variableOf("config")];
    const path = typeof given === "string" && given !== "" ? given : undefined;
    return (this.#file = await optionsFile(path, process.env, folder));
  }

  /** Reports an error, for people or as the result event. @returns its exit code */
  protected fail(failed: SealiftError, result: Record<string, unknown> = {}): number {
    const error = withKeySource(failed, this.layers, (this.options as { hubUrl?: string } | undefined)?.hubUrl);
    if (this.json && !this.#selects) this.print.event(failedResult(error, result));
    else this.context.stderr.write(describeError(error, this.#isVerbose));
    return error.exitCode;
  }

  /** Prints the result event of a successful command. @returns 0 */
  protected done(result: Record<string, unknown>): number {
    if (this.json) this.print.event({ event: "result", status: "success", exit_code: EXIT.done, ...result });
    return EXIT.done;
  }

  /** Returns the output and the answer to `--yes` with which a command asks before it acts. */
  protected consenting() {
    const { yes = false } = this.options as { yes?: boolean };
    return { context: this.context, json: this.json, yes, print: this.print, warn: this.warn };
  }

  /** Returns the facts that a renderer needs of this command. */
  protected surroundings() {
    return {
      json: this.json,
      isForPeople: this.isForPeople,
      print: this.print,
      note: this.note.bind(this),
      stderr: this.context.stderr as NodeJS.WriteStream,
      fail: this.fail.bind(this),
      done: this.done.bind(this),
    };
  }
}

type Statics = Pick<typeof SealiftCommand, keyof typeof SealiftCommand>;

/** Returns the base of a command with these options, and those of every command. */
export function withOptions<T extends OptionTable>(options: T): (abstract new () => SealiftCommand<T>) & Statics {
  abstract class CommandWithOptions extends SealiftCommand<T> {
    static override readonly table: OptionTable = {
      ...options,
      ...("hubUrl" in options && network),
      ...withoutFlagsOf(common, options),
    };
  }
  return CommandWithOptions;
}

/** Removes `--config` from a table where a command uses the name for another file. */
function withoutFlagsOf(table: OptionTable, others: OptionTable): OptionTable {
  const taken = new Set(Object.values(others).map(({ flag }) => flag));
  return Object.fromEntries(Object.entries(table).filter(([, { flag }]) => !taken.has(flag)));
}

/**
 * Returns a signal that SIGINT and SIGTERM abort; a second SIGINT ends the process at once. Dispose of it to restore
 * the defaults.
 */
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
