import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("an artifact without a proper manifest is refused", async (t) => {
  const host = await attackedHost(t);
  const invalid = { code: "manifest_invalid" } as const;
  await t.test("none at all", (t) => host.refusesProject(t, { manifest: null }, { code: "manifest_missing" }));
  await t.test("one that is a folder", (t) =>
    host.refusesProject(
      t,
      { manifest: null, extra: [{ name: "./manifest.json/", type: "5" }] },
      { code: "manifest_missing" },
    ),
  );
  await t.test("one that is not JSON", (t) => host.refusesProject(t, { manifest: () => "{ not json" }, invalid));
  await t.test("one with an unknown key", (t) =>
    host.refusesProject(t, { manifest: (m) => ({ ...m, run: "rm -rf /" }) }, invalid),
  );
  await t.test("one without a key", (t) =>
    host.refusesProject(t, { manifest: ({ content_sha256: _, ...m }) => m }, invalid),
  );
  await t.test("one of another format", (t) =>
    host.refusesProject(t, { manifest: (m) => ({ ...m, format_version: "2" }) }, invalid),
  );
  await t.test("one that leads out of the tree", async (t) => {
    await host.refusesProject(t, { manifest: (m) => ({ ...m, plugins_dirname: "../plugins" }) }, invalid);
    await host.refusesProject(t, { manifest: (m) => ({ ...m, plugins_dirname: ".." }) }, invalid);
    const plugin = { version: "1.0.0", sha256: null, environment: null, source: null };
    await host.refusesProject(t, { manifest: (m) => ({ ...m, plugins: [{ ...plugin, id: "../demo" }] }) }, invalid);
  });
  await t.test("one that names a plugin twice, or none", async (t) => {
    const plugin = { id: "demo", version: "1.0.0", sha256: null, environment: null, source: null };
    await host.refusesProject(t, { manifest: (m) => ({ ...m, plugins: [plugin, plugin] }) }, invalid);
    await host.refusesProject(t, { manifest: (m) => ({ ...m, plugins: [] }) }, invalid);
  });
});
