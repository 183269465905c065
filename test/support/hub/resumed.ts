/** Uploads that are cut, and requests that go on with them. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../until.ts";
import { type Answer, type Publication, publishForm, type RunningHub, sha256 } from "./harness.ts";

type Hub = Pick<RunningHub, "url" | "call">;
type LocalHub = Hub & Pick<RunningHub, "dataDir">;

/** Target of an upload, and the key that brings it. */
export interface Place {
  /** Path of the project, plugin or service, below which the routes of uploads lie. */
  base: string;
  key: string;
}

export const placeOf = ({ id, key }: { id: string; key: string }): Place => ({
  base: `/app/deploy/v1/projects/${id}`,
  key,
});

export const newUploadId = (): string => randomBytes(24).toString("base64url");

/** Form whose fields come first, with the id of the upload. */
export function namedForm(what: Publication, id: string): FormData {
  const form = publishForm(what);
  const named = new FormData();
  named.set("upload_id", id);
  for (const [name, value] of form) named.set(name, value);
  return named;
}

/** Form that continues an upload. @param said digest of what is before, if it is not the publication's */
export function restForm(what: Publication, id: string, offset: number, said?: string): FormData {
  const form = publishForm({ ...what, bytes: what.bytes.subarray(offset) });
  const rest = new FormData();
  rest.set("upload_id", id);
  rest.set("upload_offset", String(offset));
  rest.set("upload_sha256", said ?? sha256(what.bytes.subarray(0, offset)));
  for (const [name, value] of form) rest.set(name === "artifact" ? "rest" : name, value);
  return rest;
}

/** Begins a request, and holds its connection after some bytes of its body. @returns what ends it */
export async function beginUpload(
  { url }: Pick<RunningHub, "url">,
  { key, path }: { key: string; path: string },
  form: FormData,
  bytes: number,
): Promise<{ cut: () => void; answer: Promise<string> }> {
  const whole = new Response(form);
  const body = Buffer.from(await whole.arrayBuffer());
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  socket.on("error", () => {});
  const head = [
    `POST ${path} HTTP/1.1`,
    ...["Host: hub", `X-API-Key: ${key}`, `Content-Type: ${whole.headers.get("content-type")!}`],
    ...[`Content-Length: ${body.length}`, "", ""],
  ].join("\r\n");
  socket.write(head);
  await new Promise<void>((resolve) => socket.write(body.subarray(0, bytes), () => resolve()));
  return { cut: () => void socket.destroy(), answer: closed };
}

/** Sends the first bytes of a body, cuts the connection, and waits until the hub has kept them. */
export async function cutUpload(
  hub: LocalHub,
  { base, key, route = "publish" }: Place & { route?: string },
  form: FormData,
  bytes: number,
): Promise<void> {
  const before = JSON.stringify(await incomingFiles(hub));
  const { cut } = await beginUpload(hub, { key, path: `${base}/${route}` }, form, bytes);
  await sleep(100);
  cut();
  let last = before;
  await until(async () => {
    const now = JSON.stringify(await incomingFiles(hub));
    const isStill = now === last && now !== before;
    last = now;
    if (!isStill) await sleep(100);
    return isStill;
  });
}

export const askOffset = (hub: Hub, { base, key }: Place, id: string): Promise<Answer> =>
  hub.call("GET", `${base}/uploads/${id}`, { key });

/** Returns how many bytes are kept; 0 for none. */
export async function offsetOf(hub: Hub, place: Place, id: string): Promise<number> {
  const { status, body } = await askOffset(hub, place, id);
  return status === 200 ? (body.upload_offset as number) : 0;
}

export const sendForm = (
  hub: Hub,
  { base, key, route = "publish" }: Place & { route?: string },
  form: FormData,
): Promise<Answer> => hub.call("POST", `${base}/${route}`, { key, form });

/** Sizes of files of uploads on their way, by name. */
export async function incomingFiles({ dataDir }: Pick<RunningHub, "dataDir">): Promise<Record<string, number>> {
  // Beside the blobs, or in the data folder of a hub whose blobs are elsewhere.
  const places = [join(dataDir, "blobs", "incoming"), join(dataDir, "incoming"), join(dataDir, "../blobs/incoming")];
  const folder = places.find((place) => existsSync(place))!;
  const found: Record<string, number> = {};
  for (const name of (await readdir(folder)).toSorted()) {
    const facts = await stat(join(folder, name)).catch(() => undefined);
    if (facts !== undefined) found[name] = facts.size;
  }
  return found;
}

/** Form of an archive, with the id of its upload. */
export function namedArchive(version: string, archive: Buffer, id: string): FormData {
  const form = new FormData();
  form.set("upload_id", id);
  form.set("version", version);
  form.set("signature", `hmac_sha256:${"0".repeat(64)}`);
  form.set("archive", new Blob([new Uint8Array(archive)], { type: "application/zip" }), "archive.zip");
  return form;
}
