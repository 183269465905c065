/** Statements as a publisher sends them, and versions that they are about. */
import { endorsement, type StatementKind } from "../../../lib/contract/statements/statements.ts";
import type { Target } from "../../../lib/contract/target.ts";
import { type Answer, createProject, newSigner, publication, type RunningHub, sha256, type Signer } from "./harness.ts";

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

/** Sends a statement. @param fields in place of the endorsement of the version's signer */
export function state(
  stated: StatedVersion,
  kind: string,
  bytes: Uint8Array,
  fields: Record<string, string> = stated.signer === undefined ? {} : endorsed(stated, kind as StatementKind, bytes),
  key?: string,
): Promise<Answer> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ kind, ...fields })) form.set(name, value);
  form.set("statement", new Blob([new Uint8Array(bytes)]), "statement.json");
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
