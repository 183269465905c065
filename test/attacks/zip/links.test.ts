import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { forgedZip, LINK } from "../../support/forged/zip.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";

const link = (name: string, target: string, method = 0) => ({ name, content: target, mode: LINK, method });
const main = { name: "src/main.js", content: "export default 1;\n" };
const skip = { source: { symlinks: "skip" } } as const;

t.test("a symbolic link is refused wherever it leads", async (t) => {
  const host = await marketplaceHost(t);
  for (const target of ["src/main.js", "../../outside", "/etc/passwd", "", "alias.js"]) {
    await host.refusesEntries(t, [main, link("alias.js", target)], "member_type");
    await host.refusesEntries(t, [main, link("alias.js", target, 8)], "member_type");
  }
});

t.test("a file written through a link of the same archive lands nowhere", async (t) => {
  const host = await marketplaceHost(t);
  const entries = [link("out", "../../../.."), { name: "out/planted", content: "x" }];
  await host.refusesZip(t, pluginZip(entries), "member_type", '"out"');
  await host.refusesZip(t, pluginZip(entries), "member_duplicate", '"out"', skip);
  await host.refusesZip(t, pluginZip(entries.toReversed()), "member_duplicate", '"out"', skip);
  const same = [link("main.js", "/etc/passwd"), { name: "main.js", content: "x" }];
  await host.refusesZip(t, pluginZip(same), "member_duplicate", '"main.js"', skip);
});

t.test("with skip, links are left out and each is listed as a warning", async (t) => {
  const host = await marketplaceHost(t);
  const bytes = pluginZip([main, link("alias.js", "src/main.js"), link("docs/latest", "../../..")]);
  const files = await host.accepts(t, bytes, skip);
  t.strictSame(Object.keys(files).toSorted(), ["plugin.yaml", "src", "src/main.js"]);
  t.notOk(existsSync(join(host.installed, "alias.js")));
  const warnings = host.events.filter((event): event is AgentEvent & { message: string } => event.event === "warning");
  for (const name of ["alias.js", "docs/latest"])
    t.equal(warnings.filter(({ message }) => message.includes(`"${name}"`)).length, 1, name);
});

t.test("an archive of nothing but links is empty when they are left out", async (t) => {
  const host = await marketplaceHost(t, "service");
  await host.refusesZip(t, forgedZip([link("a", "b")]), "zip_invalid", "no file", skip);
});
