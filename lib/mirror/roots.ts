import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { MAX_ROOT_BYTES, rootFileName } from "../contract/trust/marks.ts";
import { ifThere, readTextFile } from "../support/files.ts";
import { refuse } from "./answers.ts";

/**
 * Sends a version of a trust root as the operator has put it into the mirror's folder. Hosts verify it, so nothing is
 * checked here, and nobody is asked for a key: a root holds public keys, and its id is random.
 *
 * @param folder with a folder for each root, by its id; undefined for a mirror without roots
 */
export async function sendRoot(
  { method }: IncomingMessage,
  response: ServerResponse,
  folder: string | undefined,
  { id, version }: { id: string; version: number },
): Promise<void> {
  const text = folder && (await ifThere(readTextFile(join(folder, id, rootFileName(version)), MAX_ROOT_BYTES)));
  if (text === undefined) return refuse(response, 404, "not_found", "This mirror has no such version of a trust root.");
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(method === "HEAD" ? undefined : text);
}
