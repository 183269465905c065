import { RuntimeFault } from "../guest/fault.ts";

/**
 * Shares of a sandbox's memory limit. V8 collects garbage as its own heap fills up, and knows nothing of the limit on
 * resident memory: so the heap is given what is left of the limit beside Node.js, the channel and the young heap.
 */

const MEGABYTE = 1024 * 1024;

/** Resident memory of a Node.js process that runs a plugin of one line, until one has been measured here. */
export const ASSUMED_NODE_BYTES = 52 * MEGABYTE;
/** Megabytes of V8's heap that are in use before a plugin is loaded; they are part of what Node.js takes. */
const NODE_HEAP_MB = 6;
/** Megabytes beside Node.js with which a plugin of one line runs. */
const LEAST_BESIDE_NODE_MB = 8;
/** Halves of the young heap, in megabytes: V8's own is 16. */
const SEMI_SPACES_MB = [16, 8, 4, 2, 1];
/** Megabytes beside Node.js for each megabyte of such a half: a smaller one is collected more often. */
const BESIDE_PER_SEMI_SPACE = 8;
/** Part of the memory beside Node.js that calls in flight may take, and its bounds in megabytes. */
const CHANNEL_PART = 1 / 8;
const CHANNEL_MB = { least: 1, most: 32 };

export interface MemoryShares {
  /** V8's old heap, in megabytes. */
  oldSpaceMb: number;
  /** One half of V8's young heap, in megabytes. */
  semiSpaceMb: number;
  /** Payloads that the process may have at once, in bytes. */
  channelBytes: number;
  /** All of it with what Node.js has in use before: the heap and the Buffers of the process, in bytes. */
  roomBytes: number;
}

/**
 * Divides a memory limit.
 *
 * @param limitMb `resources.max_memory_mb`
 * @param nodeBytes resident memory of a process whose plugin does nothing
 * @throws RuntimeFault `sandbox_unavailable`, naming the least limit, when no plugin can run within this one
 */
export function sharesOf(limitMb: number, nodeBytes: number): MemoryShares {
  const nodeMb = nodeBytes / MEGABYTE;
  const besideMb = limitMb - nodeMb;
  if (besideMb < LEAST_BESIDE_NODE_MB) {
    const least = Math.ceil(nodeMb + LEAST_BESIDE_NODE_MB);
    throw new RuntimeFault(
      "sandbox_unavailable",
      `resources.max_memory_mb is ${limitMb}; Node.js itself takes ${Math.round(nodeMb)} MB here: set it to ${least} or more.`,
    );
  }
  const semiSpaceMb = SEMI_SPACES_MB.find((size) => size * BESIDE_PER_SEMI_SPACE <= besideMb) ?? 1;
  const channelMb = Math.min(Math.max(besideMb * CHANNEL_PART, CHANNEL_MB.least), CHANNEL_MB.most);
  const oldSpaceMb = Math.floor(besideMb + NODE_HEAP_MB - channelMb - 2 * semiSpaceMb);
  const roomBytes = Math.floor((besideMb + NODE_HEAP_MB) * MEGABYTE);
  return { oldSpaceMb, semiSpaceMb, channelBytes: Math.floor(channelMb * MEGABYTE), roomBytes };
}
