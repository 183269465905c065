import { cacheRequest } from "./cache-entry.ts";
import type { Service } from "./service.ts";

/** Characters of all values together, whatever `max_size` says: the cache lives in the runtime's own memory. */
const MAXIMUM_CHARACTERS = 64 * 1024 * 1024;

interface Entry {
  text: string;
  /** Milliseconds; Infinity lives for ever. */
  expires: number;
}

/** A cache in this process. A Map keeps insertion order: its first entry is the least recently used. */
export class MemoryCache implements Service {
  readonly #entries = new Map<string, Entry>();
  readonly #ttl: number;
  readonly #maxSize: number;
  readonly #now: () => number;
  #characters = 0;

  /** @param options `ttl` in seconds, 0 for ever; `maxSize` in entries */
  constructor({ ttl, maxSize }: { ttl: number; maxSize: number }, now: () => number = () => performance.now()) {
    this.#ttl = ttl;
    this.#maxSize = maxSize;
    this.#now = now;
  }

  async request(method: string, parameters: unknown[], caller: string): Promise<unknown> {
    const request = cacheRequest(method, parameters, caller, this.#ttl);
    if (request.method === "get") return this.#get(request.key);
    const existed = this.#remove(request.key);
    if (request.method === "delete") return existed;
    const { key, text, ttl } = request;
    this.#entries.set(key, { text, expires: ttl === 0 ? Infinity : this.#now() + ttl * 1000 });
    this.#characters += text.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxSize && this.#characters <= MAXIMUM_CHARACTERS) break;
      this.#remove(oldest);
    }
    return null;
  }

  async check(): Promise<void> {}

  async close(): Promise<void> {
    this.#entries.clear();
  }

  #get(key: string): unknown {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    if (entry.expires <= this.#now()) {
      this.#characters -= entry.text.length;
      return null;
    }
    this.#entries.set(key, entry);
    return JSON.parse(entry.text);
  }

  #remove(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#characters -= entry.text.length;
    this.#entries.delete(key);
    return entry.expires > this.#now();
  }
}
