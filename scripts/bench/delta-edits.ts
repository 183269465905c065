import {
  closeSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

/** Changes the content of the first of every hundred files that `smallFiles` made. */
export function editOneInHundred(plugin: string): void {
  for (const folder of readdirSync(plugin).filter((name) => name.startsWith("d")))
    writeFileSync(join(plugin, folder, readdirSync(join(plugin, folder))[0]!), `edited in ${folder}`);
}

/** Changes 20 KB in three places, one of them an insertion of 5 KB. */
export function editInThreePlaces(file: string): void {
  const { size } = statSync(file);
  const descriptor = openSync(file, "r+");
  for (const at of [0.2, 0.7]) writeSync(descriptor, Buffer.alloc(7_500, "edited "), 0, 7_500, Math.floor(size * at));
  closeSync(descriptor);
  const before = `${file}.before`;
  renameSync(file, before);
  insert(before, file, Math.floor(size / 2), Buffer.alloc(5_000, "new "));
  rmSync(before);
}

/** Copies a file with bytes inserted, a few MiB at a time. */
function insert(from: string, to: string, at: number, bytes: Buffer): void {
  const out = openSync(to, "w");
  const source = openSync(from, "r");
  const buffer = Buffer.allocUnsafe(4 * 1024 * 1024);
  let position = 0;
  for (let read = readAt(source, buffer, position); read > 0; read = readAt(source, buffer, position)) {
    const end = position + read;
    if (position <= at && at < end) {
      writeSync(out, buffer, 0, at - position);
      writeSync(out, bytes);
      writeSync(out, buffer, at - position, end - at);
    } else writeSync(out, buffer, 0, read);
    position = end;
  }
  closeSync(source);
  closeSync(out);
}

const readAt = (descriptor: number, buffer: Buffer, position: number): number =>
  readSync(descriptor, buffer, 0, buffer.length, position);
