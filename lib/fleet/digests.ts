import { createHash, createHmac, hkdfSync } from "node:crypto";
import type { ContentTable } from "../contract/files/fleet-lock.ts";
import { canonicalJson } from "../support/documents/canonical-json.ts";

const INFO = "sealift settings digest v1";
/** Hexadecimal digits of a digest: 64 bits tell two values of one name apart. */
const DIGITS = 16;

/** Digest of one value: without the operator's seed nobody can guess values by it. */
export type ValueDigest = (app: string, name: string, value: string) => string;

/** Returns the digest of values of a project, keyed by the operator's seed of 32 bytes. */
export function valueDigest(operatorSeed: Uint8Array, project: string): ValueDigest {
  const key = Buffer.from(hkdfSync("sha256", operatorSeed, Buffer.alloc(0), INFO, 32));
  return (app, name, value) =>
    createHmac("sha256", key)
      .update(canonicalJson([project, app, name, value]))
      .digest("hex")
      .slice(0, DIGITS);
}

/** Returns the name under which the roll keeps a content. */
export const contentId = (table: ContentTable): string =>
  createHash("sha256").update(canonicalJson(table)).digest("hex").slice(0, DIGITS);

/** Settings that differ between two contents, as `web.NAME`, sorted. */
export interface Changes {
  added: string[];
  changed: string[];
  removed: string[];
}

const flat = (table: Readonly<Record<string, Readonly<Record<string, string | undefined>>>>) =>
  new Map(
    Object.entries(table).flatMap(([app, names]) =>
      Object.entries(names).map(([name, digest]) => [`${app}.${name}`, digest] as const),
    ),
  );

/** Names what differs. A digest that is not known, of a command that was not run, counts as a change. */
export function changesBetween(
  before: ContentTable,
  after: Readonly<Record<string, Readonly<Record<string, string | undefined>>>>,
): Changes {
  const [old, fresh] = [flat(before), flat(after)];
  const added = [...fresh.keys()].filter((name) => !old.has(name)).toSorted();
  const removed = [...old.keys()].filter((name) => !fresh.has(name)).toSorted();
  const changed = [...fresh].flatMap(([name, digest]) => (old.has(name) && old.get(name) !== digest ? [name] : []));
  return { added, changed: changed.toSorted(), removed };
}
