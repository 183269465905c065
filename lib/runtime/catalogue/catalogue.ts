import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifThere, missing } from "../../support/files.ts";
import type { Logger } from "../../support/logging.ts";
import type { PluginLocation } from "../base/instance.ts";
import { asLoadFault, RuntimeFault } from "../guest/fault.ts";
import { readDescriptor } from "./descriptor-file.ts";
import { PluginSlot } from "./plugin-slot.ts";

/** Every plugin on disk, loaded or not: a slot for each folder, and the owner of each name. */
export class Catalogue {
  /** Folder of the plugins. */
  readonly directory: string;
  readonly #logger: Logger;
  readonly #slots = new Map<string, PluginSlot>();
  #byName = new Map<string, PluginSlot>();

  constructor(directory: string, logger: Logger) {
    this.directory = directory;
    this.#logger = logger;
  }

  get all(): PluginSlot[] {
    return [...this.#slots.values()];
  }

  /** Returns the slot of a plugin by the descriptor's name, else by the folder's. */
  find(name: string): PluginSlot | undefined {
    return this.#byName.get(name) ?? this.#slots.get(name);
  }

  /**
   * Returns the slot of a plugin, which may have appeared on disk since the last scan.
   * @throws RuntimeFault `plugin_not_found`
   */
  async known(name: string): Promise<PluginSlot> {
    if (!this.find(name)) await this.scan();
    const slot = this.find(name);
    if (slot === undefined) throw new RuntimeFault("plugin_not_found", `There is no plugin ${name}.`);
    return slot;
  }

  /**
   * Updates the slots by the folders on disk, keeping loaded plugins; reads the descriptors of those that are not
   * loaded.
   */
  async scan(): Promise<void> {
    const found = await discoverPlugins(this.directory);
    const ids = new Set(found.map(({ id }) => id));
    for (const [id, slot] of this.#slots) if (!ids.has(id) && !slot.instance) this.#slots.delete(id);
    await Promise.all(found.map((location) => this.#note(location)));
    this.settleNames();
  }

  /** Records why a plugin is not loaded, or why its last reload failed; logs each reason once. */
  fail(slot: PluginSlot, fault: RuntimeFault): void {
    if (slot.fault?.message !== fault.message) {
      this.#logger.error({ plugin: slot.name, code: fault.code }, fault.message);
    }
    slot.fault = fault;
  }

  /**
   * Assigns names. Of several folders with one name, the loaded one keeps it, else the one with that id, else the
   * first.
   */
  settleNames(): void {
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
      this.fail(loser, nameTaken(winner, name));
    }
    for (const slot of this.all) {
      if (slot.fault?.code === "name_duplicate" && byName.get(slot.name) === slot) slot.fault = undefined;
    }
    this.#byName = byName;
  }

  /** Requires that no other folder has the name. @throws RuntimeFault `name_duplicate` */
  checkName(slot: PluginSlot, name: string): void {
    const holder = this.#byName.get(name);
    if (holder !== undefined && holder !== slot) throw nameTaken(holder, name);
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
      this.fail(slot, asLoadFault(error));
    }
  }
}

const nameTaken = ({ location }: PluginSlot, name: string): RuntimeFault =>
  new RuntimeFault("name_duplicate", `The folder ${location.id} holds a plugin called ${name} as well.`);

/**
 * Lists the plugins on disk: every folder, or link to one, in the plugins folder (docs/contract/host.md). Skips names
 * that start with `_` or `.`, and broken links, which belong to a release being removed.
 */
async function discoverPlugins(directory: string): Promise<PluginLocation[]> {
  const entries = (await ifThere(readdir(directory, { withFileTypes: true }))) ?? [];
  const found: PluginLocation[] = [];
  for (const { name: id } of entries) {
    if (id.startsWith("_") || id.startsWith(".")) continue;
    const location = await locatePlugin(directory, id);
    if (location) found.push(location);
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Finds the current folder of a plugin: the agent's switch changes the real path behind the same link. */
export async function locatePlugin(directory: string, id: string): Promise<PluginLocation | undefined> {
  const path = join(directory, id);
  try {
    const folder = await realpath(path);
    if (!(await stat(folder)).isDirectory()) return undefined;
    const store = join(dirname(await realpath(directory)), ".sealift", "data", "plugins", id);
    const hostData = await ifThere(realpath(store));
    return { id, path, folder, hostData };
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}
