import { fingerprintIn, makeCard } from "../../artifact/sealed/card.ts";
import type { HostKey } from "../../artifact/sealed/host-key.ts";
import { MAX_TERMS_BYTES } from "../../contract/settings/limits.ts";
import { ifThere, readTextFile, writeFileAtomic } from "../../support/files.ts";

/**
 * Keeps a card of a host's key in a file. One of this key that is there stays, with the terms that it came with;
 * another one is replaced by a card without terms, which an operator accepts by the host's line.
 *
 * @returns whether the file was written
 */
export async function keepCard(file: string, host: { project: string; name: string }, key: HostKey): Promise<boolean> {
  const text = await ifThere(readTextFile(file, MAX_TERMS_BYTES * 2));
  if (text !== undefined && fingerprintOf(text) === key.fingerprint) return false;
  await writeFileAtomic(file, `${JSON.stringify({ card: makeCard(host, key, undefined) })}\n`);
  return true;
}

/** Returns the fingerprint in a file of a card; undefined for anything else. */
function fingerprintOf(text: string): string | undefined {
  try {
    return fingerprintIn((JSON.parse(text) as { card: string }).card);
  } catch {
    return undefined;
  }
}
