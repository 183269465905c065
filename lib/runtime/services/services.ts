import { join } from "node:path";
import type { Integration } from "../../contract/files/integration.ts";
import type { Logger } from "../../support/logging.ts";
import type { MemorySampler } from "../sandbox/memory-sampler.ts";
import type { Reaper } from "../sandbox/reaper.ts";
import { MemoryCache } from "./cache-memory.ts";
import { RedisCache } from "./cache-redis.ts";
import { Extension } from "./extension.ts";
import { PostgresDatabase } from "./postgresql.ts";
import type { Service } from "./service.ts";
import { SqliteDatabase } from "./sqlite.ts";

export interface ServiceOptions {
  /** Project root. */
  root: string;
  logger: Logger;
  reaper: Reaper;
  sampler: MemorySampler;
  /** Stack that closes every opened service. */
  resources: AsyncDisposableStack;
}

/** Opens the configured services, by the target that plugins name: `cache`, `database:<name>`, `extension:<name>`. */
export async function openServices(
  { app, services }: Integration,
  { root, logger, reaper, sampler, resources }: ServiceOptions,
): Promise<Map<string, Service>> {
  const opened = new Map<string, Service>();
  for (const [name, { type, url }] of Object.entries(services.databases)) {
    const database =
      type === "sqlite" ? SqliteDatabase.open(url, { root, reaper, sampler }) : PostgresDatabase.open(url, logger);
    opened.set(`database:${name}`, resources.use(await database));
  }
  const { backend, url = "redis://127.0.0.1:6379", ttl, max_size } = services.cache;
  const cache =
    backend === "redis"
      ? await RedisCache.open(url, { prefix: app.name, ttlSeconds: ttl, logger })
      : new MemoryCache({ ttlSeconds: ttl, maxEntries: max_size });
  opened.set("cache", resources.use(cache));
  for (const [name, { module, config }] of Object.entries(services.extensions)) {
    const options = { name, directory: join(root, "extensions"), module, config, logger };
    opened.set(`extension:${name}`, resources.use(await Extension.open(options)));
  }
  return opened;
}
