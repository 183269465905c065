import PQueue from "p-queue";
import type { Descriptor } from "../../contract/files/descriptor.ts";
import type { Logger } from "../../support/logging.ts";
import type { Auditor, InstanceObserver, PluginInstance, PluginLocation } from "../base/instance.ts";
import type { Broker, Caller } from "../calls/broker.ts";
import { type Catalogue, locatePlugin } from "../catalogue/catalogue.ts";
import { entryOf, readDescriptor } from "../catalogue/descriptor-file.ts";
import { loadOrder, missingRequirement } from "../catalogue/load-order.ts";
import { pluginEnvironment } from "../catalogue/plugin-environment.ts";
import type { PluginSlot } from "../catalogue/plugin-slot.ts";
import { asLoadFault, RuntimeFault } from "../guest/fault.ts";
import type { Metrics } from "../observability/metrics.ts";
import { Comebacks } from "./comebacks.ts";
import type { InstanceFactory } from "./instance-factory.ts";

export interface LifecycleOptions {
  catalogue: Catalogue;
  broker: Broker;
  instantiate: InstanceFactory;
  metrics: Metrics;
  auditor?: Auditor | undefined;
  logger: Logger;
  /** Source of the plugins' variables. */
  env: Readonly<Record<string, string | undefined>>;
  /** Names of variables that hold the runtime's own secrets. */
  reserved: ReadonlySet<string>;
  /** Pause before a plugin whose process ended too often is started again for the first time, in seconds. */
  comebackSeconds: number;
}

/** Plugins of one wave that load at the same time. */
const PARALLEL_LOADS = 8;
/** Time that a replaced instance gets to finish in addition to a plugin's own time-out, in milliseconds. */
const DRAIN_MARGIN_MS = 1000;

interface Prepared {
  location: PluginLocation;
  descriptor: Descriptor;
}

/** Lifecycle of every plugin: loaded, reloaded, unloaded. A failure of one plugin affects no other. */
export class Lifecycle {
  readonly #options: LifecycleOptions;
  readonly #callers = new WeakMap<PluginInstance, SlotCaller>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #comebacks: Comebacks;
  #closing = false;

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#comebacks = new Comebacks(options.comebackSeconds, (slot) => this.#comeBack(slot));
  }

  /** Loads everything, in waves: plugins that need each other in sequence, all others at the same time. */
  async loadAll(): Promise<void> {
    const { catalogue } = this.#options;
    await catalogue.scan();
    const waiting = catalogue.all.filter((slot) => !slot.instance && !slot.fault && slot.descriptor);
    const { waves, failed } = loadOrder(waiting.map(({ descriptor }) => descriptor as Descriptor));
    for (const [name, fault] of failed) {
      const slot = catalogue.find(name);
      if (slot) catalogue.fail(slot, fault);
    }
    const queue = new PQueue({ concurrency: PARALLEL_LOADS });
    for (const wave of waves) {
      await queue.addAll(wave.map((name) => () => this.load(name).catch(() => undefined)));
    }
  }

  /** Loads a plugin. @throws RuntimeFault `plugin_not_found`, or the reason why the plugin cannot be loaded */
  async load(name: string): Promise<string> {
    const { catalogue } = this.#options;
    const slot = await catalogue.known(name);
    return slot.exclusively(async () => {
      this.#comebacks.forget(slot);
      if (slot.instance) {
        const now = await locatePlugin(catalogue.directory, slot.location.id);
        if (now === undefined || now.folder === slot.location.folder) return `${slot.name} is loaded already`;
        // The agent has switched to another release since.
        await this.#loadInto(slot, "reload");
        return `${slot.name} is loaded anew, from ${now.folder}`;
      }
      await this.#loadInto(slot, "load");
      return `${slot.name} is loaded`;
    });
  }

  /**
   * Swaps in a new instance once it is loaded and healthy; until then, and if it is not, the old one serves.
   * @throws RuntimeFault `plugin_not_found`, or the reason why the plugin cannot be loaded
   */
  async reload(name: string): Promise<string> {
    const slot = await this.#options.catalogue.known(name);
    return slot.exclusively(async () => {
      this.#comebacks.forget(slot);
      await this.#loadInto(slot, "reload");
      return `${slot.name} is reloaded`;
    });
  }

  /** Unloads a plugin; calls in flight may finish. @throws RuntimeFault `plugin_not_found` */
  async unload(name: string): Promise<string> {
    const slot = await this.#options.catalogue.known(name);
    return slot.exclusively(async () => {
      const { instance } = slot;
      this.#comebacks.forget(slot);
      slot.fault = undefined;
      if (instance === undefined) return `${slot.name} is not loaded`;
      slot.instance = undefined;
      await this.#retire(instance, slot.descriptor);
      this.#options.metrics.lifecycle(slot.name, "unload", "ok");
      return `${slot.name} is unloaded`;
    });
  }

  /** Loads what is new on disk, reloads what is loaded, and unloads what is gone (SIGHUP). */
  async refresh(): Promise<void> {
    const { catalogue } = this.#options;
    const loaded = catalogue.all.filter((slot) => slot.instance);
    await catalogue.scan();
    for (const slot of loaded) {
      const stillThere = await locatePlugin(catalogue.directory, slot.location.id);
      const change = stillThere ? this.reload(slot.name) : this.unload(slot.name);
      await change.catch(() => undefined);
    }
    for (const slot of catalogue.all) if (slot.fault && !slot.instance) slot.fault = undefined;
    await this.loadAll();
  }

  /** Stops every plugin, and loads none from then on; waits at most `timeoutMs` milliseconds for calls in flight. */
  async close(timeoutMs: number): Promise<void> {
    this.#closing = true;
    this.#comebacks[Symbol.dispose]();
    const stopping = this.#options.catalogue.all.map((slot) =>
      slot.exclusively(async () => {
        const { instance } = slot;
        slot.instance = undefined;
        await instance?.drain(timeoutMs);
        await instance?.stop();
      }),
    );
    await Promise.all(stopping);
    await Promise.all(this.#leaving);
  }

  /** Reads a plugin from disk again, and checks everything that can be checked without running it. */
  async #prepare(slot: PluginSlot): Promise<Prepared> {
    const { catalogue } = this.#options;
    const location = await locatePlugin(catalogue.directory, slot.location.id);
    if (location === undefined) {
      throw new RuntimeFault("plugin_not_found", `${slot.location.path} is not there any more.`);
    }
    const descriptor = await readDescriptor(location);
    catalogue.checkName(slot, descriptor.name);
    const fault = missingRequirement(descriptor, (name) => {
      const required = catalogue.find(name);
      return required?.instance && required.descriptor?.version;
    });
    if (fault) throw fault;
    return { location, descriptor };
  }

  async #loadInto(slot: PluginSlot, operation: "load" | "reload"): Promise<void> {
    const { broker, catalogue, metrics } = this.#options;
    if (this.#closing) throw new RuntimeFault("load_failed", "The runtime is closing.");
    const { instance: old, descriptor: oldDescriptor } = slot;
    let caller: SlotCaller | undefined;
    try {
      const prepared = await this.#prepare(slot);
      caller = new SlotCaller(prepared.descriptor, slot);
      const instance = await this.#instantiate(slot, prepared, caller, old !== undefined);
      caller.instance = instance;
      await checkHealth(instance, prepared.descriptor);
      slot.adopt(instance, prepared.descriptor, prepared.location);
      catalogue.settleNames();
      this.#callers.set(instance, caller);
      metrics.lifecycle(slot.name, operation, "ok");
    } catch (error) {
      if (caller) broker.forget(caller);
      await caller?.instance?.stop();
      const fault = asLoadFault(error);
      metrics.lifecycle(slot.name, operation, fault.code);
      if (old === undefined) {
        catalogue.fail(slot, fault);
        throw fault;
      }
      const kept = `The reload of ${slot.name} failed and the running version goes on: ${fault.message}`;
      catalogue.fail(slot, new RuntimeFault(fault.code, kept));
      throw new RuntimeFault(fault.code, kept, { cause: error });
    }
    if (old) this.#leave(old, oldDescriptor);
  }

  async #instantiate(
    slot: PluginSlot,
    { location, descriptor }: Prepared,
    caller: SlotCaller,
    replaces: boolean,
  ): Promise<PluginInstance> {
    const { env, reserved, logger, metrics, broker, instantiate } = this.#options;
    const { name } = descriptor;
    const observer: InstanceObserver = {
      dropped: (reason) => metrics.dropped(name, reason),
      used: (use) => this.#options.auditor?.(name, use),
      denied: (host) => metrics.denied(name, host),
      restarted: () => metrics.restarted(name),
      failed: (code, message) => this.#gaveUp(slot, caller, new RuntimeFault(code, message)),
    };
    return instantiate(
      {
        location,
        descriptor,
        entry: await entryOf(location, descriptor),
        env: await pluginEnvironment(location, descriptor, { env, reserved }),
        replaces,
        logger: logger.child({ plugin: name }),
        port: broker.portFor(caller),
        observer,
      },
      slot.loader,
    );
  }

  /** Lets a replaced instance finish what it began, in the background. */
  #leave(instance: PluginInstance, descriptor: Descriptor | undefined): void {
    const left = this.#retire(instance, descriptor).catch((error: unknown) => {
      this.#options.logger.error({ err: error }, "a replaced instance could not be stopped");
    });
    this.#leaving.add(left);
    void left.finally(() => this.#leaving.delete(left));
  }

  async #retire(instance: PluginInstance, descriptor: Descriptor | undefined): Promise<void> {
    await instance.drain((descriptor?.resources.timeout_seconds ?? 10) * 1000 + DRAIN_MARGIN_MS);
    await instance.stop();
    const caller = this.#callers.get(instance);
    if (caller) this.#options.broker.forget(caller);
  }

  #gaveUp(slot: PluginSlot, caller: SlotCaller, fault: RuntimeFault): void {
    if (caller.serving === undefined) return;
    const instance = caller.serving;
    // A restart cannot reduce what is on a disk.
    const returns = fault.code === "retries_exhausted" ? ` ${this.#comebacks.schedule(slot)}` : "";
    slot.instance = undefined;
    this.#options.catalogue.fail(slot, new RuntimeFault(fault.code, `${fault.message}${returns}`));
    this.#leave(instance, slot.descriptor);
  }

  /** Loads a plugin whose process had ended too often. */
  #comeBack(slot: PluginSlot): Promise<void> {
    const { catalogue } = this.#options;
    return slot.exclusively(async () => {
      if (slot.instance !== undefined || catalogue.find(slot.name) !== slot) return;
      await this.#loadInto(slot, "load").catch((error: unknown) => {
        const { code, message } = asLoadFault(error);
        catalogue.fail(slot, new RuntimeFault(code, `${message} ${this.#comebacks.schedule(slot)}`));
      });
    });
  }
}

/** Requires a healthy instance. @throws RuntimeFault `unhealthy` */
async function checkHealth(instance: PluginInstance, { runtime }: Descriptor): Promise<void> {
  const { enabled, timeout_seconds } = runtime.health_check;
  if (!enabled) return;
  const { status, message } = await instance.health(timeout_seconds * 1000);
  if (status === "unhealthy") throw new RuntimeFault("unhealthy", `The plugin is not healthy: ${message}`);
}

/** Instance that is being made for a slot, or serves in it. */
class SlotCaller implements Caller {
  readonly descriptor: Descriptor;
  instance: PluginInstance | undefined;
  readonly #slot: PluginSlot;

  constructor(descriptor: Descriptor, slot: PluginSlot) {
    this.descriptor = descriptor;
    this.#slot = slot;
  }

  get serving(): PluginInstance | undefined {
    return this.instance !== undefined && this.#slot.instance === this.instance ? this.instance : undefined;
  }
}
