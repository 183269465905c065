import type { Writable } from "node:stream";
import { serialiseResult } from "./json.ts";
import type { PluginLog } from "./plugin-port.ts";

const MAX_MESSAGE_CHARACTERS = 8192;
/** Bytes waiting for the runtime beyond which records are dropped: they would fill the plugin's memory. */
const CONGESTED_BYTES = 1024 * 1024;

/**
 * Creates the log of a plugin in its own process. Records that come faster than the runtime reads them are dropped and
 * counted; the runtime would drop most of them anyway (docs/runtime.md).
 *
 * @param channel to the runtime
 * @param send writes a frame to it
 */
export function channelLog(
  channel: Writable,
  send: (header: { t: string; [key: string]: unknown }, body?: string) => void,
): PluginLog {
  let dropped = 0;
  const tell = (): void => {
    const message = `${dropped} log records were dropped: they came faster than the runtime reads them.`;
    dropped = 0;
    send({ t: "log", level: "warn", message });
  };
  return (level, message, fields) => {
    if (channel.writableLength >= CONGESTED_BYTES) {
      if (dropped++ === 0) channel.once("drain", tell);
      return;
    }
    const body = fields === undefined ? "" : serialiseResult(fields);
    send({ t: "log", level, message: String(message).slice(0, MAX_MESSAGE_CHARACTERS) }, body);
  };
}
