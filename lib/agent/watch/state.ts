import { rm } from "node:fs/promises";
import { join } from "node:path";
import PQueue from "p-queue";
import * as z from "zod";
import { later } from "../../contract/later.ts";
import type { TargetName } from "../../contract/target.ts";
import { readJsonFile, writeJsonFile } from "../../releases/json-file.ts";
import type { Layout } from "../../releases/layout.ts";
import { removeTemporaries } from "../../releases/leftovers.ts";
import { TARGET_STATES } from "./target-state.ts";

const watchState = later(() =>
  z.object({
    v: z.literal(1),
    paused: z.boolean(),
    /** Last answer of the hub, and its ETag. Null before the first one. */
    latest: z
      .object({
        etag: z.string().nullable(),
        version: z.string().nullable(),
        identity: z.string().nullable(),
        isSigned: z.boolean().optional(),
        yanked: z.array(z.string()),
        withdrawn: z.string().nullish(),
        next: z.string().nullish(),
        nextAt: z.string().nullish(),
        rootVersion: z.int().nullish(),
        settingsVersion: z.int().nullish(),
        kitMadeAt: z.string().nullish(),
      })
      .nullable(),
    /** Name of a project at its hub, as the watch last heard it. */
    name: z.string().optional(),
    /** Last state that a watch recorded, while one runs. */
    state: z.object({ is: z.enum(TARGET_STATES), since: z.string() }).optional(),
  }),
);
/**
 * Memory of the loop about a target across restarts. Running versions and quarantine are read from the project root
 * itself.
 */
export type WatchState = z.infer<typeof watchState>;

const fileOfWatch = (target: TargetName): string => `watch-${target}.json`;

/** Returns the name that a project has at its hub, if a watch of the target has heard it. */
export const rememberedName = async (layout: Layout, target: TargetName): Promise<string | undefined> =>
  (await readJsonFile(join(layout.sealift, "state", fileOfWatch(target)), watchState))?.name;

/**
 * Memory of one target, kept in a file. Changes are serialized: a pause and a poll's answer may arrive at the same
 * time.
 */
export class WatchMemory {
  readonly #root: { readonly layout: Layout };
  readonly #file: string;
  readonly #turns = new PQueue({ concurrency: 1 });
  #state: WatchState | undefined;
  /** Content of the file; undefined for one that is missing or not valid. */
  #written: string | undefined;

  constructor(root: { readonly layout: Layout }, target: TargetName) {
    this.#root = root;
    this.#file = fileOfWatch(target);
  }

  get #path(): string {
    return join(this.#root.layout.sealift, "state", this.#file);
  }

  /** Remembers the name that the hub gives a project; writes only another one. */
  async rename(name: string | undefined): Promise<void> {
    if (name !== undefined && (await this.read()).name !== name) await this.change({ name });
  }

  /** Removes files that a killed loop of this target left half written, before this one writes. */
  begin(): Promise<void> {
    return this.#turns.add(() => removeTemporaries(this.#path));
  }

  /** Pauses a target, or ends that. @returns whether it was not so before */
  async pause(paused: boolean): Promise<boolean> {
    if ((await this.read()).paused === paused) return false;
    await this.change({ paused });
    return true;
  }

  read(): Promise<WatchState> {
    return this.#turns.add(() => this.#read());
  }

  /** Changes what is remembered; a file that says it already is not written again. */
  change(changes: Partial<Omit<WatchState, "v">>): Promise<void> {
    return this.#turns.add(async () => {
      this.#state = { ...(await this.#read()), ...changes };
      const text = JSON.stringify(this.#state);
      if (text === this.#written) return;
      await writeJsonFile(this.#path, this.#state);
      this.#written = text;
    });
  }

  async #read(): Promise<WatchState> {
    if (this.#state === undefined) {
      const found = await readJsonFile(this.#path, watchState);
      this.#state = found ?? { v: 1, paused: false, latest: null };
      this.#written = found && JSON.stringify(found);
    }
    return this.#state;
  }
}

const pin = later(() => z.object({ version: z.string(), reason: z.string().nullable(), at: z.string() }));
/** Version that a watch keeps a target at, whatever is latest. */
export type Pin = z.infer<typeof pin>;

const fileOf = (layout: Layout, target: TargetName): string => join(layout.sealift, "state", `pin-${target}.json`);

export const readPin = async (layout: Layout, target: TargetName): Promise<Pin | null> =>
  (await readJsonFile(fileOf(layout, target), pin)) ?? null;

/** Pins a target. Takes effect at the watch's next check, also in a running watch. */
export const writePin = (layout: Layout, target: TargetName, held: Pin): Promise<void> =>
  writeJsonFile(fileOf(layout, target), held);

export const removePin = (layout: Layout, target: TargetName): Promise<void> =>
  rm(fileOf(layout, target), { force: true });
