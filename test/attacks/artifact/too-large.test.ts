import t from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("files that are too large, alone or together, are refused", async (t) => {
  const host = await attackedHost(t);
  const refusal = { code: "limit_exceeded" } as const;
  const file = (name: string, size: number) => ({ name: `./plugins/demo/${name}`, content: Buffer.alloc(size, 1) });

  await t.test("one file", async (t) => {
    const options = { limits: { ...DEFAULT_LIMITS, maxEntryBytes: 10_000 } };
    await host.refusesProject(t, { extra: [file("large", 10_001)] }, refusal, { options });
  });
  await t.test("all files together", async (t) => {
    const options = { limits: { ...DEFAULT_LIMITS, maxTotalBytes: 100_000 } };
    const extra = Array.from({ length: 12 }, (_, i) => file(`part${i}`, 9_000));
    await host.refusesProject(t, { extra }, refusal, { options });
  });
  await t.test("a size that only the header claims, in every notation", async (t) => {
    const claims = { name: "./plugins/demo/huge" };
    await host.refusesProject(t, { extra: [{ ...claims, pax: { size: "99999999999999" } }] }, refusal);
    const base256 = Buffer.concat([Buffer.from([0x80]), Buffer.alloc(4), Buffer.from("00ffffffffffff", "hex")]);
    await host.refusesProject(t, { extra: [{ ...claims, rawSize: base256 }] }, refusal);
  });
  await t.test("a size that is not a number, or a negative one", async (t) => {
    const odd = { name: "./plugins/demo/odd", content: "x" };
    const malformed = { code: "tar_invalid" } as const;
    for (const size of ["-1", "x", "0x10"]) {
      // 0x10 reads as 0: the content is then taken for a header.
      await host.refusesProject(t, { extra: [{ ...odd, pax: { size } }] }, malformed);
    }
    await host.refusesProject(t, { extra: [{ ...odd, rawSize: Buffer.from("not a number") }] }, malformed);
    for (const first of [0x81, 0xff, 0xc0]) {
      const rawSize = Buffer.alloc(12);
      rawSize[0] = first;
      await host.refusesProject(t, { extra: [{ ...odd, rawSize }] }, malformed);
    }
  });
});
