// Only in test:all: each of its archives is published, and refused by a host, 5 s of a processor.
import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a member that leads out of its folder is refused", async (t) => {
  const host = await attackedHost(t);
  const up = "../".repeat(8);
  const names = [
    "../planted",
    "./../planted",
    `${up}planted`,
    "plugins/demo/../../../planted",
    "plugins/..",
    "..",
    "a/./b",
  ];
  for (const name of names) {
    await t.test(name, async (t) => {
      await host.refusesProject(t, { extra: [{ name, content: "x" }] }, { code: "member_unsafe" });
      await host.refusesProject(t, { before: [{ name, type: "5" }] }, { code: "member_unsafe" });
    });
  }
  await t.test("through a GNU long name, a pax path and a backslash", async (t) => {
    const gnu = { name: "../planted", gnuLongName: true, content: "x" };
    const pax = { name: "./harmless", pax: { path: "../planted" }, content: "x" };
    const windows = { name: "..\\planted", content: "x" };
    for (const extra of [gnu, pax, windows]) {
      await host.refusesProject(t, { extra: [extra] }, { code: "member_unsafe" });
    }
  });
});
