import { randomBytes } from "node:crypto";
import { open } from "node:fs/promises";
import { paceBuffers } from "../support/buffer-pacing.ts";

const UPLOAD_CHUNK_BYTES = 256 * 1024;

/** File part of a form. */
export interface FilePart {
  name: string;
  filename: string;
  contentType: string;
}

/** Bytes of a form's file, which can be read repeatedly: a redirect needs them again. */
export interface FileBytes {
  /** Total size in bytes; undefined while the file is being written. */
  total: number | undefined;
  /** Bytes of the file before those that {@link read} yields. Default 0. */
  offset?: number;
  read(): AsyncIterable<Uint8Array>;
}

/** Text fields by name; undefined ones are omitted. */
type Fields = Readonly<Record<string, string | undefined>>;

/** Form with one file. */
export interface FileForm {
  /** Fields before the file. */
  fields: Fields;
  part: FilePart;
  file: FileBytes;
  /** Returns the fields behind the file. Called when its last byte has been read. */
  later?: () => Promise<Fields>;
  /** Called with the bytes of the file sent so far, those before its offset too, and the total if known. */
  onSent?: ((bytes: number, total: number | undefined) => void) | undefined;
}

/** Body that can be sent once. */
export interface FormBody {
  contentType: string;
  /** Length in bytes; undefined if not known yet. */
  length: number | undefined;
  bytes: AsyncIterable<Uint8Array>;
}

/** Returns the bytes of a file that is whole. */
export async function wholeFile(path: string): Promise<FileBytes> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  return { total: size, read: () => readFile(path) };
}

/** Returns the bytes of a whole file from an offset on. @param total size of the file in bytes */
export const restOfFile = (path: string, offset: number, total: number): FileBytes => ({
  ...{ total, offset },
  read: () => readFile(path, offset),
});

/** Returns bytes of memory as a file's. */
export const wholeBytes = (bytes: Uint8Array): FileBytes => ({ total: bytes.length, read: () => once(bytes) });

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Reads a file in separate buffers, since the connection may keep them. */
async function* readFile(path: string, offset = 0): AsyncGenerator<Buffer> {
  const pace = paceBuffers();
  await using file = await open(path, "r");
  for (let position = offset; ;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafeSlow(UPLOAD_CHUNK_BYTES), { position });
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
    pace(bytesRead);
  }
}

/** Quotes a name as browsers do (WHATWG HTML, "multipart/form-data encoding algorithm"). */
const inQuotes = (name: string): string =>
  `"${name.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22")}"`;

/** Returns the body of a form (RFC 7578), in the order of {@link FileForm}. */
export function formBody({ fields, part, file, later, onSent }: FileForm): FormBody {
  const boundary = `sealift-${randomBytes(18).toString("hex")}`;
  const head = (name: string, more = ""): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name=${inQuotes(name)}${more}\r\n\r\n`;
  const texts = (values: Fields): string =>
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${head(name)}${value}\r\n`)
      .join("");
  const { name, filename, contentType } = part;
  const before = Buffer.from(
    texts(fields) + head(name, `; filename=${inQuotes(filename)}\r\nContent-Type: ${contentType}`),
  );
  const end = `--${boundary}--\r\n`;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield before;
    let sent = file.offset ?? 0;
    for await (const chunk of file.read()) {
      yield chunk;
      sent += chunk.length;
      onSent?.(sent, file.total);
    }
    yield Buffer.from(`\r\n${later === undefined ? "" : texts(await later())}${end}`);
  }
  const isKnown = file.total !== undefined && later === undefined;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: isKnown ? before.length + file.total! - (file.offset ?? 0) + end.length + 2 : undefined,
    bytes: bytes(),
  };
}
