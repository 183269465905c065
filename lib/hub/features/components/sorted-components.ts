import { hash } from "node:crypto";
import { readBill } from "../../../artifact/statements/bill.ts";
import type { Component } from "../../../artifact/statements/bill-formats.ts";
import { packageOf } from "../../../contract/components/query.ts";

/** Components written per transaction, few enough not to delay requests. */
const BATCH = 1000;
/** Characters of the name that begin a digest. */
const DIGEST_NAME = 24;

/** Components that are written together. */
export interface ComponentBatch {
  /** List of their rows in JSON: digest, name, version, purl and package of each. */
  rows: string;
  /** List of their digests in JSON. */
  digests: string;
}

/**
 * Returns the row of a component. Its digest begins with the name, so that sorted rows are neighbours in every index:
 * rows in the order of their hashes cost three times as much.
 */
function rowOf(component: Component): [digest: string, row: string] {
  // A lone surrogate is not text to a database.
  const [name, version, purl] = [component.name, component.version, component.purl].map((text) => text.toWellFormed());
  const digest = `${name!.slice(0, DIGEST_NAME).toWellFormed()}\n${hash("sha256", `${name}\n${version}\n${purl}`)}`;
  return [digest, JSON.stringify([digest, name, version, purl, packageOf(purl!)])];
}

/**
 * Reads the components of an SBOM, each once, and sorts them for the database.
 *
 * @param bytes an SBOM of at most 16 MiB
 * @throws ArtifactError `statement_invalid`
 */
export async function* sortedComponents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ComponentBatch> {
  const rows = new Map<string, string>();
  await readBill(bytes, (component) => void rows.set(...rowOf(component)));
  const sorted = [...rows.keys()].sort();
  for (let at = 0; at < sorted.length; at += BATCH) {
    const digests = sorted.slice(at, at + BATCH);
    yield { digests: JSON.stringify(digests), rows: `[${digests.map((digest) => rows.get(digest)).join(",")}]` };
  }
}
