import t from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("members that lie too deep or have too long a name are refused", async (t) => {
  const host = await attackedHost(t);
  const deep = (depth: number) => `./plugins/demo/${"d/".repeat(depth - 3)}f`;
  const refusal = { code: "limit_exceeded" } as const;

  await t.test("too deep", async (t) => {
    await host.refusesProject(t, { extra: [{ name: deep(DEFAULT_LIMITS.maxDepth + 1), content: "x" }] }, refusal);
    await host.refusesProject(t, { extra: [{ name: deep(400), gnuLongName: true, content: "x" }] }, refusal);
  });
  await t.test("too long a path", async (t) => {
    const name = `./plugins/demo/${`${"n".repeat(200)}/`.repeat(6)}f`;
    await host.refusesProject(t, { extra: [{ name, content: "x" }] }, refusal);
  });
  await t.test("too long a component, which no file system takes", async (t) => {
    const name = `./plugins/demo/${"n".repeat(256)}`;
    await host.refusesProject(t, { extra: [{ name, content: "x" }] }, { code: "member_unsafe" });
    // 100 characters, 300 bytes.
    const wide = `./plugins/demo/${"\u6f22".repeat(100)}`;
    await host.refusesProject(t, { extra: [{ name: wide, content: "x" }] }, { code: "member_unsafe" });
  });
});
