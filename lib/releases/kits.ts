import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { sha256Hex, timestamp } from "../contract/identifiers.ts";
import { MAX_KIT_REPORT_BYTES } from "../contract/kits/limits.ts";
import { kitId } from "../contract/kits/texts.ts";
import { later } from "../contract/later.ts";
import type { TargetName } from "../contract/target.ts";
import { ifThere, readTextFile, writeFileAtomic } from "../support/files.ts";
import { makeDurableFolder } from "./durability.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

/** Most signed reports that wait for somebody who carries them; older ones go. */
const MAX_REPORTS = 100;

const acceptedKit = later(() =>
  z.object({
    ...{ v: z.literal(1), kit: kitId, made_at: timestamp },
    /** Fingerprint of the host's key that has opened it, which may be another one now; older hosts have kept none. */
    to: sha256Hex.optional(),
  }),
);
/** Newest kit that a target has accepted: nothing older counts, and it cannot be earlier than that. */
export type AcceptedKit = Omit<z.infer<typeof acceptedKit>, "v">;

/** Reads the newest kit that a target has accepted; undefined before the first. */
export const readAcceptedKit = (layout: Layout, target: TargetName): Promise<AcceptedKit | undefined> =>
  readJsonFile(layout.kit(target), acceptedKit);

/** Tells whether a kit was made after the accepted one, if there is one. @param madeAt ISO 8601; undefined: no kit */
export const isNewerKit = (madeAt: string | undefined, accepted: AcceptedKit | undefined): boolean =>
  madeAt !== undefined && (accepted === undefined || Date.parse(madeAt) > Date.parse(accepted.made_at));

/** Remembers a kit of which everything has been verified. */
export async function acceptKit(layout: Layout, target: TargetName, accepted: AcceptedKit): Promise<void> {
  const before = await readAcceptedKit(layout, target);
  if (before !== undefined && Date.parse(before.made_at) > Date.parse(accepted.made_at)) return;
  await writeJsonFile(layout.kit(target), { v: 1, ...accepted }, { durable: layout.durability !== "none" });
}

/** Name of a signed report's file: its digest, which another report does not have. It fits FAT. */
const NAME = /^[0-9a-f]{16}\.json$/;

/** Reads the names of kept reports, oldest first. */
const keptInOrder = async (order: string): Promise<string[]> =>
  ((await ifThere(readTextFile(order, 1024 * 1024))) ?? "").split("\n").filter((each) => NAME.test(each));

/** Returns the signed report that a target has kept last; undefined for none. */
export async function lastKitReport(layout: Layout, target: TargetName): Promise<string | undefined> {
  const folder = layout.kitReports(target);
  const name = (await keptInOrder(join(folder, "order"))).at(-1);
  return name === undefined ? undefined : ifThere(readTextFile(join(folder, name), 2 * MAX_KIT_REPORT_BYTES));
}

/** Keeps a signed report until somebody carries it. @param digest SHA-256 of what is signed @returns its file's name */
export async function keepKitReport(layout: Layout, target: TargetName, text: string, digest: string): Promise<string> {
  const folder = layout.kitReports(target);
  await makeDurableFolder(layout, folder);
  const name = `${digest.slice(0, 16)}.json`;
  await writeFileAtomic(join(folder, name), `${text}\n`);
  const order = join(folder, "order");
  const known = await keptInOrder(order);
  const kept = [...known.filter((each) => each !== name), name];
  for (const old of kept.slice(0, -MAX_REPORTS)) await rm(join(folder, old), { force: true });
  await writeFileAtomic(order, `${kept.slice(-MAX_REPORTS).join("\n")}\n`);
  return name;
}

/** Yields the signed reports of a target that are kept, each with its file's name. Folders are none. */
export async function* keptKitReports(
  layout: Layout,
  target: TargetName,
): AsyncGenerator<{ name: string; text: string }> {
  const folder = layout.kitReports(target);
  const entries = (await ifThere(readdir(folder, { withFileTypes: true }))) ?? [];
  const names = entries.filter((entry) => entry.isFile() && NAME.test(entry.name)).map(({ name }) => name);
  for (const name of names.toSorted()) {
    const text = await ifThere(readTextFile(join(folder, name), 2 * MAX_KIT_REPORT_BYTES));
    if (text !== undefined) yield { name, text: text.trim() };
  }
}
