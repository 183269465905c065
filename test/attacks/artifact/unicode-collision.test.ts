import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("names that differ only in their Unicode form are refused", async (t) => {
  const host = await attackedHost(t);
  const pairs = {
    "composed and decomposed": ["caf\u00e9", "cafe\u0301"],
    "the Kelvin sign and k": ["\u212aelvin", "kelvin"],
    "sharp s and ss": ["stra\u00dfe", "STRASSE"],
    "a ligature": ["\ufb01le", "file"],
    "Greek final sigma": ["\u03c3\u03c2", "\u03c3\u03c3"],
    "Hangul jamo": ["\uac00", "\u1100\u1161"],
  };
  for (const [what, [one, other]] of Object.entries(pairs)) {
    await t.test(what, async (t) => {
      const extra = [one, other].map((name) => ({ name: `./plugins/demo/${name}`, content: "x" }));
      await host.refusesProject(t, { extra }, { code: "member_duplicate" });
    });
  }
  await t.test("and a name that is not valid UTF-8 or has control characters is refused by itself", async (t) => {
    const broken = { name: "./plugins/demo/x\ufffdy", content: "x" };
    await host.refusesProject(t, { extra: [broken] }, { code: "member_unsafe" });
    const control = { name: "./plugins/demo/x\u001b[2Jy", content: "x" };
    await host.refusesProject(t, { extra: [control] }, { code: "member_unsafe" });
  });
});
