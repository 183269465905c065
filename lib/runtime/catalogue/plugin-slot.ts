import { DEFAULT_RATE_LIMIT, type Descriptor } from "../../contract/files/descriptor.ts";
import type { PluginState, PluginStatus } from "../../contract/surfaces/runtime.ts";
import { type PluginInstance, type PluginLocation } from "../base/instance.ts";
import { RateLimit } from "../base/rate-limit.ts";
import type { RuntimeFault } from "../guest/fault.ts";
import { ModuleLoader } from "../trusted/module-loader.ts";

export type Retry = Descriptor["runtime"]["retry"];

/** Plugin on disk and, while it is loaded, the instance that serves its calls. */
export class PluginSlot {
  location: PluginLocation;
  /** Descriptor as last read and found valid. */
  descriptor: Descriptor | undefined;
  instance: PluginInstance | undefined;
  /** Reason why the plugin is not loaded, or why the last reload of a loaded one failed. */
  fault: RuntimeFault | undefined;
  rateLimit: RateLimit | undefined;
  /** Retry rule; undefined for calls that are tried once. */
  retry: Retry | undefined;
  /** Time at which an unloaded plugin is started again by itself, by `performance.now()`. */
  comesBackAt: number | undefined;
  /** Loader of its code, which stays in this process for as long as the process runs. */
  readonly loader = new ModuleLoader();
  #loadedAt = 0;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(location: PluginLocation) {
    this.location = location;
  }

  /** Name from the descriptor; the folder's until there is one. */
  get name(): string {
    return this.descriptor?.name ?? this.location.id;
  }

  get state(): PluginState {
    if (this.instance) return "loaded";
    return this.fault ? "error" : "idle";
  }

  /** Seconds since it was loaded; 0 before it ever was. */
  get uptimeSeconds(): number {
    return this.#loadedAt === 0 ? 0 : (performance.now() - this.#loadedAt) / 1000;
  }

  /** Returns what a caller of an unloaded plugin is told about its return. */
  comeback(): { retryAfterSeconds?: number } {
    if (this.comesBackAt === undefined) return {};
    return { retryAfterSeconds: Math.max(1, (this.comesBackAt - performance.now()) / 1000) };
  }

  /** Makes an instance serve from now on. */
  adopt(instance: PluginInstance, descriptor: Descriptor, location: PluginLocation): void {
    this.instance = instance;
    this.descriptor = descriptor;
    this.location = location;
    this.fault = undefined;
    this.#loadedAt = performance.now();
    const { rate_limit } = descriptor.resources;
    // Without a limit of its own only a sandboxed plugin gets the default: trusted code is not confined.
    const limit = rate_limit ?? (descriptor.execution_mode === "sandboxed" ? DEFAULT_RATE_LIMIT : undefined);
    this.rateLimit = limit && new RateLimit(limit);
    this.retry = descriptor.runtime.retry.max_attempts > 1 ? descriptor.runtime.retry : undefined;
  }

  /** Serializes changes of the plugin's lifecycle. */
  exclusively<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(change);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  status(): PluginStatus {
    const { held } = this.loader;
    const uptime = this.instance ? this.uptimeSeconds : 0;
    return {
      name: this.name,
      version: this.descriptor?.version ?? null,
      mode: this.instance?.mode ?? this.descriptor?.execution_mode ?? null,
      state: this.state,
      ...(this.instance && { release: releaseOf(this.location) }),
      uptime_seconds: Math.round(uptime * 1000) / 1000,
      ...this.instance?.facts(),
      ...(this.fault && { error: this.fault.message, error_code: this.fault.code }),
      ...(held.generations > 0 && { generations: held.generations, generation_bytes: held.bytes }),
    };
  }
}

/** Returns the release of a plugin's folder: none where no agent has deployed it. */
const releaseOf = ({ folder }: PluginLocation): string | undefined =>
  /\/\.sealift\/releases\/[^/]+\/([^/]+)\/plugins\/[^/]+$/.exec(folder)?.[1];
