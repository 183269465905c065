import t from "tap";
import { PAGES } from "../../lib/web/pages.ts";
import { forgedRoot, heldKey } from "../support/forged/roots.ts";
import { golden } from "../support/golden.ts";
import { filledHub } from "../support/hub/filled-hub.ts";
import { type CallOptions, createProject, publication, publishForm } from "../support/hub/harness.ts";

interface Operation {
  requestBody?: unknown;
  responses: Record<string, { content?: Record<string, unknown> }>;
}

const AT = "2026-01-01T00:00:00Z";
const REPORT = { version: "1.0.0", status: "success", started_at: AT, completed_at: AT, host_id: "alpha" };
const MANAGED = {
  "POST versions/{version}/yank": {},
  "POST grants": { owner: "somebody" },
  "POST import": { version: "2.0.0", repo: "o/r@v2" },
  "PATCH ": { description: "Tells the tide" },
};

/** Version 1 of a trust root. */
const ROOT = forgedRoot({ id: `rt_${"0".repeat(32)}`, version: 1, holders: [heldKey()], signers: [heldKey()] }).text;

const KIT_HOST = { host_id: "pier-7", x25519: "09".repeat(32), ed25519: "ab".repeat(32) };
const ARCHIVE_KIT = {
  ...{ version: "1.0.0", hosts: [KIT_HOST], digest: "ab".repeat(32) },
  key: Buffer.alloc(32, 7).toString("base64"),
};

/** Bodies that the routes accept, by method and path; what no caller here may do changes nothing. */
const BODIES: Record<string, object> = {
  "POST /devkeys/api-keys": { name: "more" },
  "POST /devkeys/api-keys/{id}/rotate": {},
  "POST /devkeys/projects/{id}/host-invites": { signers: ["d".repeat(64)], expires_at: "2999-01-01T00:00:00Z" },
  "PUT /devkeys/projects/{id}/host-card": { card: "{}" },
  "PUT /devkeys/projects/{id}/host-settings/outcome": { outcome: "{}" },
  "POST /devkeys/projects/{id}/kits": { version: "1.0.0", hosts: [KIT_HOST], deployment_credential: "sdc_none" },
  "POST /devkeys/kits/reports": { reports: ["{}"] },
  "POST /app/marketplace/plugins/{slug}/kits": ARCHIVE_KIT,
  "POST /app/services/services/{slug}/kits": ARCHIVE_KIT,
  "POST /devkeys/projects/{id}/settings": {
    documents: [{ host_id: "alpha", to: "e".repeat(64), number: 1, follows: null, sealed: "c2VhbGVk" }],
  },
  "POST /devkeys/join": {
    ...{ token: "sjt_none", host_id: "alpha", key: `slk_${"k".repeat(43)}` },
    deployment_credential: `sdc_${"c".repeat(43)}`,
  },
  "PATCH /devkeys/projects/{id}/joined-hosts/{host}": { host_id: "omega" },
  "POST /devkeys/projects": { name: "Another", kind: "project" },
  "PATCH /devkeys/projects/{id}": { name: "Renamed" },
  "POST /devkeys/projects/{id}/transfer": { owner: "thief" },
  "POST /devkeys/projects/{id}/versions/{version}/yank": {},
  "POST /devkeys/projects/{id}/versions/{version}/release": {},
  "POST /devkeys/projects/{id}/rollouts": { version: "1.2.0" },
  "POST /devkeys/projects/{id}/rollouts/{rollout}/pause": {},
  "POST /devkeys/projects/{id}/rollouts/{rollout}/resume": {},
  "POST /devkeys/projects/{id}/rollouts/{rollout}/approve": {},
  "POST /devkeys/projects/{id}/rollouts/{rollout}/abort": {},
  "PUT /devkeys/projects/{id}/hosts/{host_id}/service": { out_of_service: "a new disk" },
  "PUT /devkeys/projects/{id}/hosts/{host_id}/labels": { labels: { env: "prod" } },
  "POST /devkeys/projects/{id}/signers": { public_key: "a".repeat(64) },
  "POST /devkeys/projects/{id}/signers/{key}/retire": {},
  "POST /devkeys/projects/{id}/signers/{key}/revoke": {},
  "POST /devkeys/signing-key": { secret: "sixteen characters" },
  "POST /devkeys/roots": { root: ROOT },
  "POST /devkeys/webhooks": { url: "https://127.0.0.1:1/" },
  "POST /devkeys/webhooks/{webhook}/redeliver": {},
  "POST /devkeys/webhooks/{webhook}/rotate": {},
  "POST /app/deploy/v1/deployments/authorize": {
    deployment_credential: "sdc_none",
    artifact_signature: Buffer.alloc(64, 1).toString("base64"),
  },
  "POST /app/deployments/deployments/report": { ...REPORT, kind: "plugin", slug: "tide" },
  "POST /app/deployments/v1/poll": { targets: [{ target: "plugin:tide", etag: null }] },
  ...Object.fromEntries(
    Object.entries(MANAGED).flatMap(([call, body]) =>
      ["/app/marketplace/plugins/{slug}", "/app/services/services/{slug}"].map((base) => {
        const [method, rest] = call.split(" ");
        return [`${method} ${[base, rest].filter(Boolean).join("/")}`, body];
      }),
    ),
  ),
};

/** Routes that are asked without a body: tests of their features have those that they accept. */
const WITHOUT = new Set([
  "POST /devkeys/projects/{id}/versions/{version}/deprecation",
  "PUT /devkeys/projects/{id}/versions/{version}/signature",
  "POST /devkeys/publishers",
  "POST /devkeys/publishers/{publisher}/test",
  "POST /devkeys/exchange",
  "POST /devkeys/staging/approve",
  "POST /devkeys/staging/{id}/{version}/reject",
  "PUT /devkeys/projects/{id}/approval",
  "POST /app/deploy/v1/projects/{project_id}/artifacts/{version}/statements",
  "POST /app/marketplace/plugins/{slug}/versions/{version}/statements",
  "POST /app/services/services/{slug}/versions/{version}/statements",
]);

/** Queries that the routes ask for. */
const QUERIES: Record<string, string> = {
  "DELETE /devkeys/projects/{id}/versions/{version}": "?reason=bad",
  "GET /app/deployments/v1/changes": "?targets=plugin:tide",
};

t.test("every route answers strangers, other owners and broken bodies with the status that it had", async (t) => {
  const { hub, project } = await filledHub(t, `${t.testdir({})}/hub`, { rateLimits: false });
  const { body: hooks } = await hub.call("GET", "/devkeys/webhooks");
  const scopes = ["publish", "projects", "deploy", "report", "read"];
  const other = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "other", owner: "somebody-else", scopes },
  });
  const key = other.body.key as string;
  const elsewhere = await createProject(hub);
  const bearer = await elsewhere.session();
  const { body: document } = await hub.call("GET", "/openapi.json", { key: null });
  const named: Record<string, string> = {
    ...{ project_id: project.id, slug: "tide", version: "1.0.0", kind: "plugin", host_id: "alpha", owner: "nobody" },
    ...{ rollout: "rol_none", host: "alpha", invite: "inv_none", key: "a".repeat(64), webhook: hooks.items[0].id },
    root: `rt_${"0".repeat(32)}`,
  };
  const report = { ...REPORT, project_id: project.id, deployment_id: "", plugins: [] };
  const bodies: Record<string, object> = {
    ...BODIES,
    "POST /app/deploy/v1/auth": { xdevkey: key, project_id: project.id },
    "POST /app/deploy/v1/deployments/report": report,
  };
  const lines: string[] = [];
  for (const [path, operations] of Object.entries(document.paths as Record<string, Record<string, Operation>>)) {
    if (path.startsWith("/app/devkeys/")) continue;
    const id = path.includes("/api-keys/") ? project.keyId : path.includes("/downloads/") ? "art_none" : project.id;
    const names = path.includes("/roots/") ? { ...named, version: "1" } : named;
    const where = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => names[name] ?? id);
    for (const [method, { requestBody, responses }] of Object.entries(operations)) {
      const name = `${method.toUpperCase()} ${path}`;
      const isForm = /\/(?:publish|deltas|index|versions)$/.test(path);
      if (requestBody !== undefined && !isForm)
        t.ok(bodies[name] ?? WITHOUT.has(name), `${name}: give it a body that it accepts in BODIES`);
      const given = (): CallOptions =>
        requestBody === undefined ? {} : isForm ? { form: publishForm(publication("9.9.9")) } : { json: bodies[name] };
      const cases: Record<string, CallOptions> = {
        "no key": { ...given(), key: null },
        "a bad key": { ...given(), key: "slk_never_issued" },
        "another owner's key": { ...given(), key },
        "another project's session": { ...given(), bearer },
        ...(requestBody !== undefined && {
          "a broken body": { headers: { "content-type": "application/json" }, body: "{not json" },
          "an odd body": { json: { odd: 1 } },
          "an odd body without a key": { json: { odd: 1 }, key: null },
        }),
      };
      lines.push(name);
      for (const [what, options] of Object.entries(cases)) {
        // A stream of hints has no end.
        if (responses["200"]?.content?.["text/event-stream"] !== undefined && options.key === key) continue;
        const { status, body } = await hub.call(method.toUpperCase(), where + (QUERIES[name] ?? ""), options);
        lines.push(`  ${what}: ${status} ${body?.code ?? ""}`.trimEnd());
      }
    }
  }
  golden(t, "routes.txt", lines.join("\n"));
});

t.test("every page answers a stranger with the status that it had", async (t) => {
  const { hub } = await filledHub(t, `${t.testdir({})}/hub`);
  const lines: string[] = [];
  const named: Record<string, string> = { slug: "tide", host: "alpha", action: "pause" };
  for (const { method, path } of PAGES) {
    const asked = path.replaceAll(/:([a-z]+)/g, (_, name: string) => named[name] ?? "plugin");
    const { status, headers } = await hub.call(method, asked, { key: null });
    const location = headers.get("location");
    lines.push(`${method} ${path} ${status}${location === null ? "" : ` to ${location}`}`);
  }
  golden(t, "pages.txt", lines.join("\n"));
});
