import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

type Plugins = { plugins: Record<string, unknown>[] };

t.test("a plugin that is not the one of the manifest is refused", async (t) => {
  const host = await attackedHost(t);
  await t.test("another digest", (t) =>
    host.refusesProject(
      t,
      {
        manifest: (m) => ({
          ...m,
          plugins: (m as unknown as Plugins).plugins.map((plugin) => ({ ...plugin, sha256: "0".repeat(64) })),
        }),
      },
      { code: "plugin_digest_mismatch" },
    ),
  );
  await t.test("an extension's digest", (t) =>
    host.refusesProject(
      t,
      {
        files: { "extensions/tide/service.js": "x" },
        manifest: (m) => ({ ...m, extensions: [{ id: "tide", sha256: "0".repeat(64), source: null }] }),
      },
      { code: "plugin_digest_mismatch" },
    ),
  );
  await t.test("a plugin that is not there at all", (t) =>
    host.refusesProject(
      t,
      {
        manifest: (m) => ({
          ...m,
          plugins: [
            ...(m as unknown as Plugins).plugins,
            { id: "ghost", version: "1.0.0", sha256: null, environment: null, source: null },
          ],
        }),
      },
      { code: "plugin_missing" },
    ),
  );
});
