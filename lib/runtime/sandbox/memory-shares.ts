import { RuntimeFault } from "../guest/fault.ts";

/**
 * Shares of a sandbox's memory limit. V8 collects garbage by the size of its own heap, and ignores the limit on
 * resident memory: so the heap gets what is left of the limit after Node.js, the channel and the young heap.
 */

const MEGABYTE = 1024 * 1024;

/** Resident memory of a Node.js process with a one-line plugin, until one has been measured here. */
export const ASSUMED_NODE_BYTES = 52 * MEGABYTE;
/** Megabytes of V8's heap in use before a plugin is loaded; part of what Node.js takes. */
const NODE_HEAP_MB = 6;
/** Fewest megabytes in addition to Node.js with which a one-line plugin runs. */
const LEAST_BESIDE_NODE_MB = 8;
/** Sizes of one half of the young heap, in megabytes; V8's default is 16. */
const SEMI_SPACES_MB = [16, 8, 4, 2, 1];
/** Megabytes in addition to Node.js per megabyte of such a half: a smaller one is collected more often. */
const BESIDE_PER_SEMI_SPACE = 8;
/** Share of the memory in addition to Node.js for calls in flight; the next constants are its bounds in megabytes. */
const CHANNEL_PART = 1 / 8;
const CHANNEL_MB = { least: 1, most: 32 };

export interface MemoryShares {
  /** V8's old heap, in megabytes. */
  oldSpaceMb: number;
  /** One half of V8's young heap, in megabytes. */
  semiSpaceMb: number;
  /** Payloads that the process may have at once, in bytes. */
  channelBytes: number;
  /** Heap and Buffers of the process together, including what Node.js uses before, in bytes. */
  roomBytes: number;
}

/**
 * Divides a memory limit.
 *
 * @param limitMb `resources.max_memory_mb`
 * @param nodeBytes resident memory of a process with an idle plugin
 * @throws RuntimeFault `sandbox_unavailable`, with the least possible limit, when no plugin can run within this one
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
