import fc from "fast-check";
import t from "tap";
import { ASSUMED_NODE_BYTES, sharesOf } from "../../../../lib/runtime/sandbox/memory-shares.ts";

const MEGABYTE = 1024 * 1024;

t.test("what V8 and the channel are given fits into the limit beside Node.js, and grows with the limit", (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 90, max: 16_384 }), fc.integer({ min: 30, max: 80 }), (limit, nodeMb) => {
      const { oldSpaceMb, semiSpaceMb, channelBytes } = sharesOf(limit, nodeMb * MEGABYTE);
      const larger = sharesOf(limit * 2, nodeMb * MEGABYTE);
      return (
        oldSpaceMb >= 8 &&
        semiSpaceMb >= 1 &&
        oldSpaceMb + channelBytes / MEGABYTE < limit - nodeMb + 8 &&
        larger.oldSpaceMb > oldSpaceMb &&
        larger.channelBytes >= channelBytes
      );
    }),
  );
  t.ok(sharesOf(1024, ASSUMED_NODE_BYTES).oldSpaceMb > 0.85 * 1024, "most of a large limit is heap");
  t.end();
});

t.test("a limit within which no plugin runs is refused, and the error names the least one", (t) => {
  const message = /max_memory_mb is 16; Node\.js itself takes 50 MB here: set it to 58 or more/;
  t.throws(() => sharesOf(16, 50 * MEGABYTE), { code: "sandbox_unavailable", message });
  t.throws(() => sharesOf(57, 50 * MEGABYTE), { code: "sandbox_unavailable" });
  t.doesNotThrow(() => sharesOf(58, 50 * MEGABYTE));
  t.end();
});
