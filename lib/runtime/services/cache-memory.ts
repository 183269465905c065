import { LRUCache } from "lru-cache";
import { cacheRequest } from "./cache-entry.ts";
import type { Service } from "./service.ts";

/** Most characters of all values together, whatever `max_size` says: the cache is in the runtime's own memory. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** Most entries, whatever `max_size` says: their slots are allocated at once. */
const MAX_ENTRIES = 1_000_000;

/** Cache in this process. The least recently used entry is evicted first. */
export class MemoryCache implements Service {
  /** Entries as JSON texts, so that no plugin shares an object with another. */
  readonly #entries: LRUCache<string, string>;
  readonly #ttlSeconds: number;

  /**
   * @param options `ttlSeconds` 0 keeps entries for ever; `maxEntries` is the most that are kept
   * @param now returns milliseconds
   */
  constructor(
    { ttlSeconds, maxEntries }: { ttlSeconds: number; maxEntries: number },
    now: () => number = () => performance.now(),
  ) {
    this.#ttlSeconds = ttlSeconds;
    this.#entries = new LRUCache({
      max: Math.min(maxEntries, MAX_ENTRIES),
      maxSize: MAX_CHARACTERS,
      sizeCalculation: (text) => text.length,
      ttlResolution: 0,
      perf: { now },
    });
  }

  async request(method: string, parameters: unknown[], caller: string): Promise<unknown> {
    const request = cacheRequest(method, parameters, caller, this.#ttlSeconds);
    const { key } = request;
    if (request.method === "set") {
      this.#entries.set(key, request.text, { ttl: request.ttlSeconds * 1000 });
      return null;
    }
    const text = this.#entries.get(key);
    if (request.method === "delete") return this.#entries.delete(key) && text !== undefined;
    return text === undefined ? null : JSON.parse(text);
  }

  async check(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.#entries.clear();
  }
}
