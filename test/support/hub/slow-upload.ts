import { setTimeout as sleep } from "node:timers/promises";
import type { RunningHub } from "./harness.ts";

const TAIL_BYTES = 10;
/** Time in which a hub has read what was sent. */
const READ_MS = 200;

/** A request whose body takes its time. */
interface SlowRequest {
  path: string;
  key: string;
  body: FormData | string;
  /** Content type of a body that is text. */
  type?: string;
}

/** Sends a body but for its end, has `meanwhile` done, and sends the rest. @returns the status */
export async function sendSlowly(
  { url }: Pick<RunningHub, "url">,
  { path, key, body: content, type }: SlowRequest,
  meanwhile: () => Promise<unknown>,
): Promise<number> {
  const whole = new Response(content);
  const bytes = new Uint8Array(await whole.arrayBuffer());
  const body = new ReadableStream({
    async start(stream) {
      stream.enqueue(bytes.subarray(0, -TAIL_BYTES));
      await sleep(READ_MS);
      await meanwhile();
      stream.enqueue(bytes.subarray(-TAIL_BYTES));
      stream.close();
    },
  });
  const headers = { "x-api-key": key, "content-type": type ?? whole.headers.get("content-type")! };
  return (await fetch(url + path, { method: "POST", headers, body, duplex: "half" })).status;
}
