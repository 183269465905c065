import { createReadStream } from "node:fs";
import { artifactError } from "../../contract/errors.ts";

const NEWLINE = 10;

/**
 * Reads a text file line by line. `node:readline` has no limit on a line's length.
 *
 * @param maxLineBytes bytes that one line may have, without its newline
 * @throws ArtifactError `limit_exceeded` for a longer line
 */
export async function* readLines(path: string, maxLineBytes: number): AsyncGenerator<string, undefined> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); ; end = chunk.indexOf(NEWLINE, from)) {
      const part = chunk.subarray(from, end === -1 ? chunk.length : end);
      heldBytes += part.length;
      if (heldBytes > maxLineBytes) throw tooLong(path, maxLineBytes);
      if (part.length > 0) held.push(part);
      if (end === -1) break;
      yield held.length === 1 ? held[0]!.toString("utf8") : Buffer.concat(held).toString("utf8");
      held = [];
      heldBytes = 0;
      from = end + 1;
    }
  }
  if (heldBytes > 0) yield Buffer.concat(held).toString("utf8");
  return undefined;
}

const tooLong = (path: string, maxLineBytes: number) =>
  artifactError("limit_exceeded", `${path} has a line of more than ${maxLineBytes} bytes.`);
