// Only in test:all: each of its archives is published, and refused by a host, 7 s of a processor.
import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a member with an absolute name is refused and lands nowhere", async (t) => {
  const host = await attackedHost(t);
  const target = join(host.outside, "planted.txt");
  const drive = "C:/Windows/planted.txt";
  for (const name of [target, `/${target}`, `./${target}`, drive, "c:planted.txt", "\\\\server\\share\\planted"]) {
    await t.test(name.replace(host.outside, "…"), async (t) => {
      for (const extra of [
        { name, content: "x" },
        { name: `${name}/`, type: "5" },
      ]) {
        await host.refusesProject(t, { extra: [extra] }, { code: "member_unsafe" });
      }
      await host.refusesProject(
        t,
        { extra: [{ name: "./short", pax: { path: name }, content: "x" }] },
        { code: "member_unsafe" },
      );
    });
  }
  t.notOk(existsSync(target), "nothing was planted");
});
