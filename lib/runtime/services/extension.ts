import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { isInside } from "../../support/files.ts";
import type { Logger } from "../../support/logging.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import { ModuleLoader } from "../trusted/module-loader.ts";
import type { Service } from "./service.ts";

/** Entry points tried in this order when the configuration names only a folder. */
const ENTRIES = ["src/main", "main", "src/index", "index"].flatMap((stem) =>
  [".js", ".mjs", ".cjs", ".ts"].map((extension) => stem + extension),
);

/** Exports of an extension's module: its functions, or a function that makes them from its configuration. */
type Functions = Record<string, unknown> & { check?: () => unknown; close?: () => unknown };

export interface ExtensionOptions {
  name: string;
  /** `extensions/` of the project root. */
  directory: string;
  /** Module as configured: a folder below it, or a file in one. */
  module: string;
  config: Record<string, unknown>;
  logger: Logger;
}

/** Words that belong to the runtime, or to every object, and are never an extension's functions. */
const RESERVED = new Set(["check", "close", "constructor", "default"]);

/** Service shared by plugins: code of the operator's choice, in the runtime's process. */
export class Extension implements Service {
  readonly #options: ExtensionOptions;
  readonly #loader = new ModuleLoader();
  #functions: Functions | undefined;
  #fault: string | undefined;

  private constructor(options: ExtensionOptions) {
    this.#options = options;
  }

  /** Loads the module. One that fails stays in the configuration: requests and health say why. */
  static async open(options: ExtensionOptions): Promise<Extension> {
    const extension = new Extension(options);
    await extension.reload();
    return extension;
  }

  /** Loads the module again; if that fails, the old one serves. */
  async reload(): Promise<void> {
    const { name, logger } = this.#options;
    try {
      const old = this.#functions;
      this.#functions = await this.#load();
      this.#fault = undefined;
      await old?.close?.();
    } catch (error) {
      this.#fault = messageOf(error);
      logger.error({ extension: name, err: error }, "an extension cannot be loaded");
    }
  }

  async request(method: string, parameters: unknown[]): Promise<unknown> {
    const { name } = this.#options;
    if (this.#functions === undefined) {
      throw new RuntimeFault("service_unavailable", `The extension ${name} is not loaded: ${this.#fault ?? ""}`);
    }
    const found = this.#functions[method];
    if (RESERVED.has(method) || !Object.hasOwn(this.#functions, method) || typeof found !== "function") {
      throw new RuntimeFault("service_unavailable", `The extension ${name} has no function ${method}.`);
    }
    try {
      return (await (found as (...parameters: unknown[]) => unknown).apply(this.#functions, parameters)) ?? null;
    } catch (error) {
      throw new RuntimeFault("service_unavailable", messageOf(error), { cause: error });
    }
  }

  async check(): Promise<void> {
    if (this.#fault !== undefined) throw new Error(this.#fault);
    await this.#functions?.check?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#functions?.close?.();
  }

  async #load(): Promise<Functions> {
    const { config, logger, name } = this.#options;
    const { folder, entry } = await this.#entry();
    const namespace = await this.#loader.load(entry, folder);
    const exported = namespace["default"] ?? namespace;
    const made: unknown =
      typeof exported === "function"
        ? await (exported as (options: unknown) => unknown)({ config, logger: logger.child({ extension: name }) })
        : exported;
    if (typeof made !== "object" || made === null) throw new Error("its module exports no functions");
    return { ...made };
  }

  async #entry(): Promise<{ folder: string; entry: string }> {
    const { directory, module } = this.#options;
    const [id = "", ...rest] = module.replace(/^(?:\.\/)?(?:extensions\/)?/, "").split("/");
    const folder = await realpath(join(directory, id));
    for (const path of rest.length > 0 ? [rest.join("/")] : ENTRIES) {
      const entry = await realpath(join(folder, path)).catch(() => undefined);
      if (entry === undefined || !(await stat(entry)).isFile()) continue;
      if (!isInside(entry, folder)) throw new Error(`${path} leads out of ${folder}`);
      return { folder, entry };
    }
    throw new Error(`${folder} has none of ${rest.length > 0 ? rest.join("/") : ENTRIES.join(", ")}`);
  }
}
