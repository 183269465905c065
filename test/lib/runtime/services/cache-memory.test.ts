import t from "tap";
import { MemoryCache } from "../../../../lib/runtime/services/cache-memory.ts";

t.test("a memory cache forgets what is old, least used or deleted", async (t) => {
  let now = 1;
  const cache = new MemoryCache({ ttlSeconds: 10, maxEntries: 2 }, () => now);
  const ask = (method: string, ...parameters: unknown[]) => cache.request(method, parameters, "me");
  await ask("set", "a", 1);
  await ask("set", "b", 2);
  await ask("get", "a");
  await ask("set", "c", 3);
  t.same([await ask("get", "a"), await ask("get", "b"), await ask("get", "c")], [1, null, 3]);
  now += 10_001;
  t.equal(await ask("get", "a"), null);
  await ask("set", "for ever", 1, 0);
  now += 1e12;
  t.equal(await ask("get", "for ever"), 1);
  await t.rejects(ask("set", "x", "y".repeat(2_000_000)), { code: "service_unavailable" });
  await t.rejects(ask("set", "x", 1, -1), { code: "service_unavailable" });
  await t.rejects(ask("get", 7), { code: "service_unavailable" });
});
