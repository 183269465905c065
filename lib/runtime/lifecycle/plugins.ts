import type { Descriptor } from "../../contract/files/descriptor.ts";
import type { Logger } from "../../support/logging.ts";
import type { Caller } from "../calls/broker.ts";
import { entryOf, readDescriptor } from "../catalogue/descriptor-file.ts";
import { discoverPlugins, locatePlugin } from "../catalogue/discovery.ts";
import { loadOrder, missingRequirement } from "../catalogue/load-order.ts";
import { pluginEnvironment } from "../catalogue/plugin-environment.ts";
import type { PluginLocation } from "../catalogue/plugin-location.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { InstanceHost, InstanceOptions, PluginInstance } from "./instance.ts";
import { PluginSlot } from "./plugin-slot.ts";

export interface PluginsOptions {
  directory: string;
  env: Readonly<Record<string, string | undefined>>;
  reserved: ReadonlySet<string>;
  logger: Logger;
  metrics: Metrics;
  /** Makes an instance of the right mode. */
  instantiate: (options: InstanceOptions, slot: PluginSlot) => Promise<PluginInstance>;
  request: (caller: Caller, ...request: Parameters<InstanceHost["request"]>) => Promise<unknown>;
  forget: (caller: Caller) => void;
}

/** How many plugins of one wave load at the same time. */
const PARALLEL_LOADS = 8;
/** Milliseconds on top of a plugin's own time-out that a replaced instance gets to finish. */
const DRAIN_MARGIN = 1000;

interface Prepared {
  location: PluginLocation;
  descriptor: Descriptor;
}

const asLoadFault = (error: unknown): RuntimeFault =>
  error instanceof RuntimeFault ? error : new RuntimeFault("load_failed", messageOf(error), { cause: error });

/** Every plugin on disk and its life: found, loaded, reloaded, unloaded. One plugin's failure is its own. */
export class Plugins {
  readonly #options: PluginsOptions;
  readonly #slots = new Map<string, PluginSlot>();
  #byName = new Map<string, PluginSlot>();
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: PluginsOptions) {
    this.#options = options;
  }

  get all(): PluginSlot[] {
    return [...this.#slots.values()];
  }

  /** By the descriptor's name, else by the folder's. */
  find(name: string): PluginSlot | undefined {
    return this.#byName.get(name) ?? this.#slots.get(name);
  }

  /** Takes note of folders that came and, unless they are loaded, of those that went; reads descriptors of what is not loaded. */
  async scan(): Promise<void> {
    const found = await discoverPlugins(this.#options.directory);
    const ids = new Set(found.map(({ id }) => id));
    for (const [id, slot] of this.#slots) if (!ids.has(id) && !slot.instance) this.#slots.delete(id);
    await Promise.all(found.map((location) => this.#note(location)));
    this.#nameSlots();
  }

  /** Loads everything, in waves: plugins that need each other one after the other, all others at once. */
  async loadAll(): Promise<void> {
    await this.scan();
    const waiting = this.all.filter((slot) => !slot.instance && !slot.fault && slot.descriptor);
    const { waves, failed } = loadOrder(waiting.map(({ descriptor }) => descriptor as Descriptor));
    for (const [name, fault] of failed) {
      const slot = this.find(name);
      if (slot) this.#fail(slot, fault);
    }
    for (const wave of waves) await this.#loadWave(wave);
  }

  /** @throws RuntimeFault `plugin_not_found`, or the reason that it cannot be loaded */
  async load(name: string): Promise<string> {
    const slot = await this.#known(name);
    return slot.exclusively(async () => {
      if (slot.instance) {
        const now = await locatePlugin(this.#options.directory, slot.location.id);
        if (now === undefined || now.folder === slot.location.folder) return `${slot.name} is loaded already`;
        // The agent has switched to another release since.
        await this.#loadInto(slot, "reload");
        return `${slot.name} is loaded anew, from ${now.folder}`;
      }
      await this.#loadInto(slot, "load");
      return `${slot.name} is loaded`;
    });
  }

  /** Swaps in a new instance once it is loaded and healthy; until then, and if it is not, the old one serves. */
  async reload(name: string): Promise<string> {
    const slot = await this.#known(name);
    return slot.exclusively(async () => {
      await this.#loadInto(slot, "reload");
      return `${slot.name} is reloaded`;
    });
  }

  /** Takes a plugin out of memory; calls in flight may finish. */
  async unload(name: string): Promise<string> {
    const slot = await this.#known(name);
    return slot.exclusively(async () => {
      const { instance } = slot;
      slot.fault = undefined;
      if (instance === undefined) return `${slot.name} is not loaded`;
      slot.instance = undefined;
      await this.#retire(instance, slot.descriptor);
      this.#options.metrics.lifecycle(slot.name, "unload", "ok");
      return `${slot.name} is unloaded`;
    });
  }

  /** Loads what is new on disk, reloads what is loaded, and lets go of what is gone (SIGHUP). */
  async refresh(): Promise<void> {
    const loaded = this.all.filter((slot) => slot.instance);
    await this.scan();
    for (const slot of loaded) {
      const stillThere = await locatePlugin(this.#options.directory, slot.location.id);
      const change = stillThere ? this.reload(slot.name) : this.unload(slot.name);
      await change.catch(() => undefined);
    }
    for (const slot of this.all) if (slot.fault && !slot.instance) slot.fault = undefined;
    await this.loadAll();
  }

  /** Stops every plugin; waits at most `timeout` milliseconds for calls in flight. */
  async close(timeout: number): Promise<void> {
    await Promise.all(
      this.all.map((slot) =>
        slot.exclusively(async () => {
          const { instance } = slot;
          slot.instance = undefined;
          await instance?.drain(timeout);
          await instance?.stop();
        }),
      ),
    );
    await Promise.all(this.#leaving);
  }

  async #known(name: string): Promise<PluginSlot> {
    if (!this.find(name)) await this.scan();
    const slot = this.find(name);
    if (slot === undefined) throw new RuntimeFault("plugin_not_found", `There is no plugin ${name}.`);
    return slot;
  }

  async #loadWave(names: readonly string[]): Promise<void> {
    const queue = [...names];
    const worker = async (): Promise<void> => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
        await this.load(name).catch(() => undefined);
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL_LOADS, names.length) }, worker));
  }

  async #note(location: PluginLocation): Promise<void> {
    const slot = this.#slots.get(location.id) ?? new PluginSlot(location);
    this.#slots.set(location.id, slot);
    if (slot.instance) return;
    slot.location = location;
    try {
      slot.descriptor = await readDescriptor(location);
      if (slot.fault?.code === "descriptor_invalid" || slot.fault?.code === "name_reserved") slot.fault = undefined;
    } catch (error) {
      slot.descriptor = undefined;
      this.#fail(slot, asLoadFault(error));
    }
  }

  /** Of several folders with one name, the loaded one, else the one with that id, else the first keeps it. */
  #nameSlots(): void {
    const byName = new Map<string, PluginSlot>();
    for (const slot of this.all) {
      if (slot.descriptor === undefined) continue;
      const { name, location } = slot;
      const holder = byName.get(name);
      if (holder === undefined) {
        byName.set(name, slot);
        continue;
      }
      const takes = !holder.instance && (slot.instance !== undefined || location.id === name);
      const [winner, loser] = takes ? [slot, holder] : [holder, slot];
      byName.set(name, winner);
      const message = `The folder ${winner.location.id} holds a plugin called ${name} as well.`;
      this.#fail(loser, new RuntimeFault("name_duplicate", message));
    }
    for (const slot of this.all) {
      if (slot.fault?.code === "name_duplicate" && byName.get(slot.name) === slot) slot.fault = undefined;
    }
    this.#byName = byName;
  }

  #fail(slot: PluginSlot, fault: RuntimeFault): void {
    if (slot.fault?.message !== fault.message) {
      this.#options.logger.error({ plugin: slot.name, code: fault.code }, fault.message);
    }
    slot.fault = fault;
  }

  /** Reads a plugin anew from disk, and checks all that can be checked without running it. */
  async #prepare(slot: PluginSlot): Promise<Prepared> {
    const location = await locatePlugin(this.#options.directory, slot.location.id);
    if (location === undefined)
      throw new RuntimeFault("plugin_not_found", `${slot.location.path} is not there any more.`);
    const descriptor = await readDescriptor(location);
    const holder = this.#byName.get(descriptor.name);
    if (holder !== undefined && holder !== slot) {
      const message = `The folder ${holder.location.id} holds a plugin called ${descriptor.name} as well.`;
      throw new RuntimeFault("name_duplicate", message);
    }
    const fault = missingRequirement(descriptor, (name) => {
      const required = this.find(name);
      return required?.instance && required.descriptor?.version;
    });
    if (fault) throw fault;
    return { location, descriptor };
  }

  async #loadInto(slot: PluginSlot, operation: "load" | "reload"): Promise<void> {
    const { metrics, forget } = this.#options;
    const old = slot.instance;
    const oldDescriptor = slot.descriptor;
    let caller: LiveCaller | undefined;
    try {
      const prepared = await this.#prepare(slot);
      caller = new LiveCaller(prepared.descriptor, slot);
      const instance = await this.#instantiate(slot, prepared, caller, old !== undefined);
      caller.made = instance;
      await this.#checkHealth(instance, prepared.descriptor);
      slot.adopt(instance, prepared.descriptor, prepared.location);
      this.#nameSlots();
      this.#callers.set(instance, caller);
      metrics.lifecycle(slot.name, operation, "ok");
    } catch (error) {
      if (caller) forget(caller);
      await caller?.made?.stop();
      const fault = asLoadFault(error);
      metrics.lifecycle(slot.name, operation, fault.code);
      if (old === undefined) {
        this.#fail(slot, fault);
        throw fault;
      }
      const kept = `The reload of ${slot.name} failed and the running version goes on: ${fault.message}`;
      this.#fail(slot, new RuntimeFault(fault.code, kept));
      throw new RuntimeFault(fault.code, kept, { cause: error });
    }
    if (old) this.#leave(old, oldDescriptor);
  }

  readonly #callers = new WeakMap<PluginInstance, Caller>();

  async #instantiate(
    slot: PluginSlot,
    { location, descriptor }: Prepared,
    caller: LiveCaller,
    replaces: boolean,
  ): Promise<PluginInstance> {
    const { env, reserved, logger, metrics, request } = this.#options;
    const { name } = descriptor;
    const host: InstanceHost = {
      request: (...parameters) => request(caller, ...parameters),
      dropped: (reason) => metrics.dropped(name, reason),
      restarted: () => metrics.restarted(name),
      failed: (code, message) => this.#gaveUp(slot, caller, new RuntimeFault(code, message)),
    };
    return this.#options.instantiate(
      {
        location,
        descriptor,
        entry: await entryOf(location, descriptor),
        env: await pluginEnvironment(location, descriptor, { env, reserved }),
        replaces,
        logger: logger.child({ plugin: name }),
        host,
      },
      slot,
    );
  }

  async #checkHealth(instance: PluginInstance, { runtime }: Descriptor): Promise<void> {
    const { enabled, timeout_seconds } = runtime.health_check;
    if (!enabled) return;
    const { status, message } = await instance.health(timeout_seconds * 1000);
    if (status === "unhealthy") throw new RuntimeFault("unhealthy", `The plugin is not healthy: ${message}`);
  }

  /** The replaced instance finishes what it began, in the background. */
  #leave(instance: PluginInstance, descriptor: Descriptor | undefined): void {
    const left = this.#retire(instance, descriptor).catch((error: unknown) => {
      this.#options.logger.error({ err: error }, "a replaced instance could not be stopped");
    });
    this.#leaving.add(left);
    void left.finally(() => this.#leaving.delete(left));
  }

  async #retire(instance: PluginInstance, descriptor: Descriptor | undefined): Promise<void> {
    await instance.drain((descriptor?.resources.timeout_seconds ?? 10) * 1000 + DRAIN_MARGIN);
    await instance.stop();
    const caller = this.#callers.get(instance);
    if (caller) this.#options.forget(caller);
  }

  #gaveUp(slot: PluginSlot, caller: LiveCaller, fault: RuntimeFault): void {
    if (caller.made === undefined || slot.instance !== caller.made) return;
    slot.instance = undefined;
    this.#fail(slot, fault);
    this.#leave(caller.made, slot.descriptor);
  }
}

/** A caller is the instance that is being made, or serves, in a slot. */
class LiveCaller implements Caller {
  readonly descriptor: Descriptor;
  made: PluginInstance | undefined;
  readonly #slot: PluginSlot;

  constructor(descriptor: Descriptor, slot: PluginSlot) {
    this.descriptor = descriptor;
    this.#slot = slot;
  }

  isActive(): boolean {
    return this.made !== undefined && this.#slot.instance === this.made;
  }

  instance(): PluginInstance | undefined {
    return this.made;
  }
}
