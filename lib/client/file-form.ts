import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { type Readable, Transform } from "node:stream";
import type FormData from "form-data";
import { paceBuffers } from "../support/buffer-pacing.ts";

const UPLOAD_CHUNK_BYTES = 128 * 1024;

/** The file part of a form. */
export interface FilePart {
  name: string;
  filename: string;
  contentType: string;
}

/** A multipart form: the fields first, then a file as a stream. A form can be sent once. */
export async function fileForm(fields: Record<string, string>, part: FilePart, file: string): Promise<FormData> {
  // Loaded by uploads only: its table of file types is large.
  const { default: Form } = await import("form-data");
  const form = new Form();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  const { name, filename, contentType } = part;
  const { size } = await stat(file);
  form.append(name, fileStream(file), { filename, contentType, knownLength: size });
  return form;
}

/** A file's bytes, with the buffers that have gone out freed in time. */
function fileStream(path: string): Readable {
  const pace = paceBuffers();
  const source = createReadStream(path, { highWaterMark: UPLOAD_CHUNK_BYTES });
  const paced = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      pace(chunk.length);
      callback(null, chunk);
    },
  });
  source.on("error", (error) => paced.destroy(error));
  paced.on("close", () => source.destroy());
  return source.pipe(paced);
}
