/** Statements as a publisher sends them, and versions that they are about. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { endorsement, type StatementKind } from "../../../lib/contract/statements/statements.ts";
import type { Target } from "../../../lib/contract/target.ts";
import { type FeatureFill, HOSTILE } from "./filling.ts";
import { type Answer, createProject, newSigner, publication, type RunningHub, sha256, type Signer } from "./harness.ts";
import { startSigstore } from "./sigstore.ts";

/** A component of a bill of materials. */
export interface BillComponent {
  type?: string;
  group?: string;
  name: string;
  version?: string;
  purl?: string;
  components?: BillComponent[];
}

const typed = (component: BillComponent): BillComponent => ({
  type: "library",
  ...component,
  ...(component.components && { components: component.components.map(typed) }),
});

/** A CycloneDX document of libraries. */
export const billOf = (components: readonly BillComponent[], more: object = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      ...{ bomFormat: "CycloneDX", specVersion: "1.6", version: 1 },
      components: components.map(typed),
      ...more,
    }),
  );

/** A version with its signer, where it has one. */
export interface StatedVersion {
  hub: Pick<RunningHub, "call">;
  target: Target;
  version: string;
  artifact_sha256: string;
  content_sha256: string | null;
  signer?: Signer;
}

export const statementsPath = ({
  target: { kind, slug },
  version,
}: Pick<StatedVersion, "target" | "version">): string =>
  kind === "project"
    ? `/app/deploy/v1/projects/${slug}/artifacts/${version}/statements`
    : `/app/${kind === "plugin" ? "marketplace" : "services"}/${kind}s/${slug}/versions/${version}/statements`;

const payloadType = "application/vnd.sealift.statement+json";

/** Signs a statement as its version's signer would. @param signer in place of that */
export function endorsed(stated: StatedVersion, kind: StatementKind, bytes: Uint8Array, signer = stated.signer!) {
  const { target, version, artifact_sha256, content_sha256 } = stated;
  const payload = endorsement({ target, version, artifact_sha256, content_sha256, kind, sha256: sha256(bytes) });
  const pae = `DSSEv1 ${payloadType.length} ${payloadType} ${Buffer.byteLength(payload)} ${payload}`;
  return {
    signature: signer.sign(Buffer.from(pae)).toString("base64"),
    signer_public_key: signer.publicKey.toString("base64"),
  };
}

/** The form of a statement. @param fields its endorsement */
export function statementForm(kind: string, bytes: Uint8Array, fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ kind, ...fields })) form.set(name, value);
  form.set("statement", new Blob([new Uint8Array(bytes)]), "statement.json");
  return form;
}

/** Sends a statement. @param fields in place of the endorsement of the version's signer */
export function state(
  stated: StatedVersion,
  kind: string,
  bytes: Uint8Array,
  fields: Record<string, string> = stated.signer === undefined ? {} : endorsed(stated, kind as StatementKind, bytes),
  key?: string,
): Promise<Answer> {
  const form = statementForm(kind, bytes, fields);
  return stated.hub.call("POST", statementsPath(stated), { form, ...(key !== undefined && { key }) });
}

/** A project with one published version. */
export async function statedProject(
  hub: RunningHub,
  version = "1.0.0",
): Promise<StatedVersion & { id: string; key: string }> {
  const project = await createProject(hub);
  const signer = newSigner();
  const what = publication(version, { signer });
  const { body } = await project.publish(what);
  return {
    ...{ hub, version, signer, id: project.id, key: project.key, target: { kind: "project", slug: project.id } },
    ...{ artifact_sha256: body.artifact_sha256, content_sha256: what.contentSha256 },
  };
}

/** Fills statements of a version: a workflow and components that are called hostile things. */
export const statementFill: FeatureFill = {
  async fill({ hub, project, versions, signer }) {
    const { version, bytes, contentSha256: content_sha256 } = versions[2]!;
    const name = HOSTILE.replace(/\u2028/g, "");
    const stated = {
      ...{ hub, version, signer, target: { kind: "project", slug: project.id } as const },
      ...{ artifact_sha256: sha256(bytes), content_sha256 },
    };
    const sigstore = await startSigstore();
    const bundle = await sigstore.attest({ subjects: [content_sha256], workflow: name, issuer: name });
    const statements = {
      provenance: Buffer.from(JSON.stringify(bundle)),
      sbom: billOf([{ type: name, name, version: name, purl: `pkg:generic/${encodeURIComponent(name)}` }]),
      urgent: Buffer.from(JSON.stringify({ reason: name })),
    };
    for (const [kind, bytes] of Object.entries(statements)) {
      const answer = await state(stated, kind, bytes);
      if (answer.status !== 201) throw new Error(`${kind}: ${answer.bytes.toString()}`);
    }
  },
  async show({ hub }) {
    const sbom = billOf([{ name: "lodash", version: "4.17.20", purl: "pkg:npm/lodash@4.17.20" }]);
    const target = { kind: "plugin", slug: "tide-table" } as const;
    await state({ hub, target, version: "1.2.0", artifact_sha256: "", content_sha256: null }, "sbom", sbom);
  },
  pages: () => ({ statements: "/plugins/tide-table/statements?version=1.2.0" }),
  rights: ({ project }) => ({
    "/plugins/tide-table/statements": "/app/marketplace/plugins/tide-table/versions/1.2.0/statements",
    "/plugins/secret/statements": "/app/marketplace/plugins/secret/versions/1.0.0/statements",
    [`/projects/${project}/statements`]: `/devkeys/projects/${project}`,
  }),
  async lists({ hub, folder }) {
    const stated = await statedProject(hub);
    await state(stated, "sbom", billOf([{ name: "lodash" }]));
    const policy = join(folder, "policy.yaml");
    await writeFile(policy, "sbom: true\n");
    return {
      "policy check": [`policy check ${stated.id} 1.0.0 --policy ${policy}`, true],
      "version statements": [`version statements ${stated.id} 1.0.0`, true],
    };
  },
};
