import fc from "fast-check";
import t from "tap";
import type { z } from "zod";
import * as deploy from "../../../lib/contract/deploy/routes.ts";
import { installPlan, notifiers, provisioners } from "../../../lib/contract/files/install-plan.ts";
import { manifest } from "../../../lib/contract/files/manifest.ts";
import { forgetProjectHost, listTargetHosts } from "../../../lib/contract/fleets/routes.ts";
import { base64Of, envName, hostId, pluginId, projectId } from "../../../lib/contract/identifiers.ts";
import { listKeys, revokeKey } from "../../../lib/contract/keys/routes.ts";
import { installTarget, showTarget } from "../../../lib/contract/marketplace/routes.ts";
import { publishArtifact } from "../../../lib/contract/publishing/routes.ts";
import { reportTarget } from "../../../lib/contract/reports/routes.ts";
import { authorizeAnswer, latestAnswer, projectReport } from "../../../lib/contract/surfaces/deploy.ts";
import { baseUrl, pathOf } from "../../../lib/contract/surfaces/paths.ts";

const holds = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success;

t.test("paths are the contract's, each segment percent-encoded", async (t) => {
  const project = { project_id: "prj_1" };
  t.equal(pathOf(deploy.openSession), "/app/deploy/v1/auth");
  t.equal(pathOf(deploy.showLatest, project), "/app/deploy/v1/projects/prj_1/versions/latest");
  const located = pathOf(deploy.locateArtifact, { ...project, version: "1.0.0+b" });
  t.equal(located, "/app/deploy/v1/projects/prj_1/artifacts/1.0.0%2Bb");
  t.equal(pathOf(deploy.authorizeDeployment), "/app/deploy/v1/deployments/authorize");
  t.equal(pathOf(deploy.reportProject), "/app/deploy/v1/deployments/report");
  t.equal(pathOf(publishArtifact, project), "/app/deploy/v1/projects/prj_1/publish");
  t.equal(pathOf(installTarget.plugin, { slug: "tide" }), "/app/marketplace/plugins/tide/install");
  t.equal(pathOf(showTarget.service, { slug: "tide" }), "/app/services/services/tide");
  t.equal(pathOf(reportTarget), "/app/deployments/deployments/report");
  const hosts = pathOf(listTargetHosts, { kind: "plugin", slug: "tide" });
  t.equal(hosts, "/app/deployments/deployments/plugin/tide/hosts");
  t.equal(pathOf(listKeys), "/devkeys/api-keys");
  t.equal(baseUrl("http://hub///"), "http://hub");
  t.equal(baseUrl("http://hub/root/"), "http://hub/root");
});

t.test("no id or version can leave its segment of a path", async (t) => {
  const pathOfHost = (id: string) => pathOf(forgetProjectHost, { project_id: "prj_1", host_id: id });
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
      fc.pre(!/^\.{1,2}$/.test(text));
      const { pathname, search, hash } = new URL(`http://hub${pathOfHost(text)}`);
      const [before, after] = pathname.split("/hosts/");
      return before === "/app/deploy/v1/projects/prj_1" && decodeURIComponent(after!) === text && search + hash === "";
    }),
  );
  for (const step of [".", ".."]) t.throws(() => pathOfHost(step), { code: "usage" }, step);
  t.equal(new URL(`http://hub${pathOf(revokeKey, { id: "..." })}`).pathname, "/devkeys/api-keys/...");
});

t.test("identifiers are checked at both ends", async (t) => {
  t.ok(holds(projectId, "prj_0123456789"));
  for (const bad of ["prj_012345678", `prj_${"0".repeat(41)}`, "PRJ_0123456789", "prj_0123456789\n", "prj_0123-56789"])
    t.notOk(holds(projectId, bad), JSON.stringify(bad));
  for (const bad of ["", "A", ".a", "-a", "a/b", "..", "a\n", "a".repeat(129)]) t.notOk(holds(pluginId, bad));
  for (const good of ["a", "0", "a.b_c-d", "a".repeat(128)]) t.ok(holds(pluginId, good));
  for (const bad of ["", "a b", "\u001b", "x".repeat(256), "a\n"]) t.notOk(holds(hostId, bad), JSON.stringify(bad));
  t.ok(holds(hostId, "h\u00f6st-1.example"));
  for (const bad of ["", "1A", "A-B", "A=B", "A\n"]) t.notOk(holds(envName, bad));
});

t.test("base64 is strict and has the length that it should have", async (t) => {
  const bytes = Buffer.alloc(32, 0xfb);
  t.ok(holds(base64Of(32), bytes.toString("base64")));
  t.notOk(holds(base64Of(32), bytes.toString("base64url")), "not base64url");
  t.notOk(holds(base64Of(32), `${bytes.toString("base64")}\n`));
  t.notOk(holds(base64Of(32), bytes.toString("base64").replace("=", "")));
  t.notOk(holds(base64Of(32), Buffer.alloc(31).toString("base64")));
  t.notOk(holds(base64Of(32), Buffer.alloc(33).toString("base64")));
  t.notOk(holds(authorizeAnswer, { dek: "" }));
});

t.test("a hub cannot hand a host a version that is not a label", async (t) => {
  for (const version of ["", "latest", "../../x", "1.0\u001b[2J", "x".repeat(200), 7, null])
    t.notOk(holds(latestAnswer, { version }), JSON.stringify(version));
  t.ok(holds(latestAnswer, { version: "1.0.0" }));
});

const good = {
  format_version: "1",
  project_id: "prj_0123456789",
  project_name: "Demo",
  version: "1.0.0",
  built_at: "2026-01-01T00:00:00Z",
  plugins: [{ id: "demo", version: "1.0.0", sha256: null, environment: null, source: null }],
  extensions: [],
  plugins_dirname: "plugins",
  content_sha256: "0".repeat(64),
};

t.test("a manifest has all its keys and no others", async (t) => {
  t.ok(holds(manifest, good));
  for (const key of Object.keys(good)) {
    const { [key as keyof typeof good]: _, ...rest } = good;
    t.notOk(holds(manifest, rest), `without ${key}`);
  }
  t.notOk(holds(manifest, { ...good, more: 1 }));
  t.ok(holds(manifest, { ...good, plugins: [] }), "where the plan installs applications");
  const plugin = good.plugins[0]!;
  for (const key of Object.keys(plugin)) {
    const { [key as keyof typeof plugin]: _, ...rest } = plugin;
    t.notOk(holds(manifest, { ...good, plugins: [rest] }), `a plugin without ${key}`);
  }
  const changes = [
    { version: "v1" },
    { built_at: "yesterday" },
    { plugins: [plugin, plugin] },
    { plugins_dirname: "../x" },
    { plugins_dirname: "a/b" },
    { plugins_dirname: "." },
    { content_sha256: "0".repeat(63) },
    { content_sha256: "A".repeat(64) },
    { extensions: [{ id: "x", sha256: null, source: null, environment: null }] },
  ];
  for (const change of changes) t.notOk(holds(manifest, { ...good, ...change }), JSON.stringify(change));
});

t.test("a plugin's source names one place", async (t) => {
  const source = {
    ...{ marketplace_slug: "tide", marketplace_version: "1.0.0", marketplace_kind: "plugin" },
    ...{ url: null, ref: null, subdirectory: null },
  };
  const withSource = (change: object) => ({
    ...good,
    plugins: [{ ...good.plugins[0], sha256: "0".repeat(64), source: { ...source, ...change } }],
  });
  t.ok(holds(manifest, withSource({})));
  t.ok(holds(manifest, withSource({ marketplace_slug: null, marketplace_version: null, url: "https://x/y.zip" })));
  t.notOk(holds(manifest, withSource({ url: "https://x/y" })), "both");
  t.notOk(holds(manifest, withSource({ marketplace_slug: null })), "neither");
  t.notOk(holds(manifest, withSource({ marketplace_slug: null, url: "file:///etc" })));
  const signed = (...signer_public_keys: string[]) => withSource({ signer_public_keys });
  t.ok(holds(manifest, signed("ab".repeat(32), "cd".repeat(32))));
  t.notOk(holds(manifest, signed()), "no key");
  t.notOk(holds(manifest, signed("AB".repeat(32))), "no canonical one");
  const git = { marketplace_slug: null, url: "https://x/y.zip", signer_public_keys: ["ab".repeat(32)] };
  t.notOk(holds(manifest, withSource(git)), "no archive of a git host is signed");
});

const plan = (steps: unknown) => ({ format_version: "1", project_id: "x", version: "1", steps });
const step = (fields: object) => plan([{ id: "a", ...fields }]);

t.test("every action takes its own fields and no others", async (t) => {
  const actions: Record<string, object> = {
    prepare: {},
    download: {},
    extract: {},
    configure_plugin: { plugin: "demo" },
    provision: { plugin: "demo" },
    install_plugin: { plugin: "demo" },
    install_extension: { extension: "tide" },
    write_env: { plugin: "demo", from: ".env.template" },
    start: {},
    stop: {},
    restart: {},
    healthcheck: {},
    notify: { event: "done" },
    rollback: {},
  };
  for (const [action, fields] of Object.entries(actions)) {
    t.ok(holds(installPlan, step({ action, ...fields })), action);
    t.notOk(holds(installPlan, step({ action, ...fields, run: "x" })), `${action} with an unknown key`);
    for (const key of Object.keys(fields))
      t.notOk(holds(installPlan, step({ action, ...fields, [key]: undefined })), `${action} without ${key}`);
  }
  for (const action of ["shell", "run", "exec", "", undefined])
    t.notOk(holds(installPlan, step({ action })), `${action}`);
});

t.test("time-outs are seconds in several spellings, between 1 and 600", async (t) => {
  const parsed = (timeout: unknown) => {
    const result = installPlan.safeParse(step({ action: "healthcheck", timeout }));
    return result.success ? (result.data.steps[0] as { timeout: number }).timeout : "refused";
  };
  t.equal(parsed(undefined), 30);
  t.equal(parsed(45), 45);
  t.equal(parsed("45"), 45);
  t.equal(parsed("45s"), 45);
  t.equal(parsed("5m"), 300);
  for (const bad of [0, 601, -1, 1.5, "0s", "11m", "1h", "5 m", "", "5d", null])
    t.equal(parsed(bad), "refused", `${bad}`);
  for (const retries of [-1, 21, 1.5]) t.notOk(holds(installPlan, step({ action: "healthcheck", retries })));
});

t.test("paths in a plan stay in the tree", async (t) => {
  for (const bad of ["", "/etc", "../x", "a/../b", "a\\b", "a\0b", "x".repeat(1025)]) {
    t.notOk(holds(installPlan, step({ action: "write_env", plugin: "demo", from: bad })), JSON.stringify(bad));
    t.notOk(holds(installPlan, step({ action: "install_plugin", plugin: "demo", source: bad })), JSON.stringify(bad));
  }
});

t.test("the operator's command files have defaults and refuse unknown keys", async (t) => {
  t.match(provisioners.parse({ demo: { command: ["true"] } }), { demo: { env: {}, timeout: 300 } });
  t.match(notifiers.parse({ done: { command: ["true"] } }), { done: { env: {}, timeout: 30 } });
  for (const bad of [
    { command: [] },
    { command: "true" },
    { command: ["true"], shell: true },
    { command: ["x"], timeout: 0 },
  ])
    t.notOk(holds(provisioners, { demo: bad }), JSON.stringify(bad));
});

t.test("independent agents' reports with empty strings are accepted", async (t) => {
  const report = {
    ...{ project_id: "prj_0123456789", deployment_id: "", status: "success", version: "1.0.0" },
    ...{ started_at: "", completed_at: "", plugins: [{ anything: 1 }] },
  };
  t.ok(holds(projectReport, report));
  t.notOk(holds(projectReport, { ...report, status: "rolled_back" }), "surface B knows two states");
  t.notOk(holds(projectReport, { ...report, started_at: "yesterday" }));
});
