// Only in test:all: each of its archives is published, and refused by a host, 5 s of a processor.
import t from "tap";
import { forgedZip } from "../../support/forged/zip.ts";
import { marketplaceHost, pluginZip, SLUG } from "../../support/host/marketplace-host.ts";

const plugin = pluginZip([{ name: "src/main.js", content: "export default 2;\n" }]);
const service = forgedZip([{ name: "index.js", content: "export default 2;\n" }]);

for (const [kind, header, bytes] of [
  ["plugin", "x-plugin", plugin],
  ["service", "x-service", service],
] as const) {
  t.test(`${header} of another version or name is refused`, async (t) => {
    const host = await marketplaceHost(t, kind);
    const wrong: ((version: string) => string)[] = [
      () => `${SLUG}@1.0.0`,
      (version) => `${SLUG}@${version}0`,
      (version) => `${SLUG}@v${version}`,
      (version) => `another@${version}`,
      (version) => `${SLUG}x@${version}`,
      (version) => `${SLUG.toUpperCase()}@${version}`,
      (version) => `@${version}`,
      (version) => version,
      () => SLUG,
      () => `${SLUG}@`,
      () => "@",
      () => "",
      (version) => `${SLUG}@${version}@0.0.1`,
    ];
    for (const make of wrong) {
      const version = host.offer(bytes);
      host.hub.release.headers = { [header]: make(version) };
      await t.test(make(version), (t) => host.refuses(t, { code: "header_mismatch" }));
      t.notOk(
        host.events.some((event) => event.event === "fetch.started"),
        "before its bytes are read",
      );
    }
  });

  t.test(`${header} with the slug or the record's name passes, and so does none`, async (t) => {
    const host = await marketplaceHost(t, kind);
    const names = [SLUG, host.hub.name, "acme@tides", null];
    for (const name of names) {
      const version = host.offer(bytes);
      host.hub.release.headers = { [header]: name === null ? null : `${name}@${version}` };
      if (name !== null && name !== SLUG) host.hub.name = name;
      t.match(await host.deploy(), { outcome: "deployed", version }, name ?? "no header");
    }
  });

  t.test("the header of the other kind says nothing", async (t) => {
    const host = await marketplaceHost(t, kind);
    const other = kind === "plugin" ? "x-service" : "x-plugin";
    host.offer(bytes, { [other]: "another@9.9.9" });
    t.match(await host.deploy(), { outcome: "deployed" });
  });
}

t.test("a version label may hold an at sign: the last one separates", async (t) => {
  const host = await marketplaceHost(t);
  host.offer(plugin, { "x-plugin": `a@b@1.0` });
  host.hub.release.version = "1.0";
  host.hub.name = "a@b";
  t.match(await host.deploy(), { outcome: "deployed", version: "1.0" });
});
