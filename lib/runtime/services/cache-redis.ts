import type { Redis } from "ioredis";
import type { Logger } from "../../support/logging.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import { cacheRequest } from "./cache-entry.ts";
import type { Service } from "./service.ts";

const COMMAND_TIMEOUT_MS = 3000;

/** Cache in Redis; the connection is made in the background, and again when it is lost. */
export class RedisCache implements Service {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #ttlSeconds: number;

  private constructor(redis: Redis, prefix: string, ttlSeconds: number) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#ttlSeconds = ttlSeconds;
  }

  /** @param options `prefix` separates this runtime's keys; `ttlSeconds` 0 keeps entries for ever */
  static async open(
    url: string,
    { prefix, ttlSeconds, logger }: { prefix: string; ttlSeconds: number; logger: Logger },
  ): Promise<RedisCache> {
    const { Redis: Client } = await import("ioredis");
    const redis = new Client(url, {
      commandTimeout: COMMAND_TIMEOUT_MS,
      connectTimeout: COMMAND_TIMEOUT_MS,
      maxRetriesPerRequest: 1,
    });
    let last = "";
    redis.on("error", (error: Error) => {
      if (error.message !== last) logger.warn({ err: error }, "the cache cannot be reached");
      last = error.message;
    });
    redis.on("ready", () => (last = ""));
    return new RedisCache(redis, prefix, ttlSeconds);
  }

  async request(method: string, parameters: unknown[], caller: string): Promise<unknown> {
    const request = cacheRequest(method, parameters, caller, this.#ttlSeconds);
    const key = `${this.#prefix}:${request.key}`;
    try {
      if (request.method === "get") {
        const text = await this.#redis.get(key);
        return text === null ? null : JSON.parse(text);
      }
      if (request.method === "delete") return (await this.#redis.del(key)) > 0;
      const { text, ttlSeconds } = request;
      await (ttlSeconds === 0
        ? this.#redis.set(key, text)
        : this.#redis.set(key, text, "PX", Math.ceil(ttlSeconds * 1000)));
      return null;
    } catch (error) {
      throw new RuntimeFault("service_unavailable", `The cache failed: ${messageOf(error)}`);
    }
  }

  async check(): Promise<void> {
    await this.#redis.ping();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
  }
}
