import { readFile, rm } from "node:fs/promises";
import * as z from "zod";
import { deploymentError } from "../contract/errors.ts";
import { later } from "../contract/later.ts";
import { localReport } from "../contract/surfaces/reports.ts";
import { faultsOf } from "../support/documents/faults.ts";
import { ifThere } from "../support/files.ts";
import { syncNames } from "./durability.ts";
import { writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";
import { deploymentId, item, releaseName, target, unit } from "./names.ts";

/** Format of the journal. A journal of another format is left alone: it belongs to another version of Sealift. */
const FORMAT = 1;

/** Deployment as its reports name it, whichever run writes them. */
export const attempt = later(() =>
  z.object({
    v: z.literal(FORMAT),
    deployment_id: deploymentId,
    target,
    kind: z.enum(["project", "plugin", "service"]),
    slug: z.string(),
    host_id: z.string(),
    requested_version: z.string(),
    resolved_version: z.string().nullable(),
    started_at: z.string(),
    release: releaseName,
    /** Identity that distinguishes two artifacts of one version, as far as it was known before the download. */
    identity: z.string().nullish(),
    /** Id of the boot in which the deployment ran: if it has changed, the machine ended. */
    boot_id: z.string().nullish(),
  }),
);
export type Attempt = Readonly<z.infer<typeof attempt>>;

const journalEntry = later(() =>
  z.object({
    ...attempt.shape,
    phase: z.enum(["staging", "switching", "committed"]),
    previous: releaseName.nullable(),
    items: z.array(item),
    previous_items: z.array(item),
    /** Real folders that become part of `previous`. */
    adopted: z.array(item),
    /** Units whose `.env` file this deployment created. */
    env_files: z.array(unit),
    /** Units whose `.env` file this run has replaced, and of which it keeps the former one. */
    replaced_env: z.array(unit).default([]),
    /** Whether this run changes settings, and no release: its end is no report. */
    is_settings: z.boolean().default(false),
    /** Units that were stopped, started or restarted; null is the project's own unit. */
    touched: z.array(z.string().nullable()),
    /** Whether the release stood before this run, and so stays when it is undone. */
    keeps_release: z.boolean().default(false),
    /** Report of a committed deployment, until it is written. */
    report: localReport.nullable().default(null),
  }),
);
/**
 * Plan of a deployment, written before it is carried out. `staging`: nothing visible has changed. `switching`: links
 * may be half done, and the next run undoes them. `committed`: the new release stays, and the next run finishes the
 * rest. Without a journal, the release that `current` names is complete.
 */
export type JournalEntry = Readonly<z.infer<typeof journalEntry>>;

/**
 * Reads the journal of a project root; undefined when no deployment is unfinished.
 *
 * @throws DeploymentError `journal_unreadable` for a journal that this program did not write: then nothing may be
 *   swept or undone
 */
export async function readJournal(layout: Layout): Promise<JournalEntry | undefined> {
  const text = await ifThere(readFile(layout.journal, "utf8"));
  if (text === undefined) return undefined;
  const unreadable = (why: string) =>
    deploymentError("journal_unreadable", `The journal ${layout.journal} ${why}.`, {
      hint:
        "A deployment was cut short there. Let the version of Sealift that began it finish, " +
        "or check what `current` links to, remove the journal and deploy again.",
    });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable("is not JSON");
  }
  const format = z.looseObject({ v: z.number() }).safeParse(value).data?.v;
  if (format !== undefined && format !== FORMAT)
    throw unreadable(`has the format ${format}, and this version of Sealift knows ${FORMAT}`);
  const parsed = journalEntry.safeParse(value);
  if (!parsed.success) throw unreadable(`is not valid: ${faultsOf(parsed.error).slice(0, 3).join("; ")}`);
  return parsed.data;
}

/** The only writer of a project root's journal. Created, used and cleared under the lock of the root. */
export class Journal {
  readonly #layout: Layout;
  #entry: JournalEntry;

  private constructor(layout: Layout, entry: JournalEntry) {
    this.#layout = layout;
    this.#entry = entry;
  }

  /** Writes the first entry of a deployment: from here on a crash is undone by the next run. */
  static async begin(
    layout: Layout,
    attempt: Attempt,
    previous: string | null,
    { keepsRelease = false, isSettings = false } = {},
  ): Promise<Journal> {
    const journal = new Journal(layout, {
      ...attempt,
      phase: "staging",
      previous,
      items: [],
      previous_items: [],
      adopted: [],
      env_files: [],
      replaced_env: [],
      is_settings: isSettings,
      touched: [],
      keeps_release: keepsRelease,
      report: null,
    });
    await journal.#write(journal.#entry);
    // A first deployment has made the folder of the journal, too.
    await syncNames(layout, layout.root);
    return journal;
  }

  /** Returns the journal that a run left behind, if any. @throws DeploymentError `journal_unreadable` */
  static async found(layout: Layout): Promise<Journal | undefined> {
    const entry = await readJournal(layout);
    return entry && new Journal(layout, entry);
  }

  get layout(): Layout {
    return this.#layout;
  }

  get entry(): JournalEntry {
    return this.#entry;
  }

  /** Replaces parts of the entry; they are on disk when this returns. A write that fails changes nothing. */
  async note(changes: Partial<Omit<JournalEntry, keyof Attempt>>): Promise<void> {
    const entry = { ...this.#entry, ...changes };
    await this.#write(entry);
    this.#entry = entry;
  }

  /** Records a unit before it is stopped, started or restarted. */
  async touch(unit: string | null): Promise<void> {
    if (!this.#entry.touched.includes(unit)) await this.note({ touched: [...this.#entry.touched, unit] });
  }

  /** Removes the journal: the release that `current` names is complete. */
  async clear(): Promise<void> {
    await rm(this.#layout.journal, { force: true });
    await syncNames(this.#layout, this.#layout.sealift);
  }

  async #write(entry: JournalEntry): Promise<void> {
    const { journal, durability } = this.#layout;
    await writeJsonFile(journal, entry, { durable: durability !== "none" });
  }
}
