/** Versions as publishers pass them to the hubs, and the keys that publish and approve them. */
import type { Principal } from "../../lib/hub/base/principal.ts";
import type { NewVersion } from "../../lib/hub/records/insert-version.ts";
import type { Project } from "../../lib/hub/records/projects.ts";
import { UNSIGNED } from "../../lib/hub/records/version-tables.ts";
import { SLUG } from "./furnish.ts";

/** SHA-256 of every version's bytes. */
export const SHA256 = "0".repeat(64);
/** Ids of the keys that publish and approve versions (furnish.ts). */
const [STAGER, APPROVER] = ["key_alpha", "key_beta"];

/** @param isStager whether it is the publishing key */
export const keyOf = (isStager: boolean): Principal => ({
  ...{ keyId: isStager ? STAGER : APPROVER, owner: "admin", scopes: new Set(["admin"] as const), projectId: null },
  ...{ host: null, expiresAt: null },
});

interface Given {
  target: Pick<Project, "id" | "kind">;
  version: string;
  /** Suffix of its id. */
  suffix: string;
  /** ISO 8601. */
  created_at: string;
}

export function newVersion({ target: { id, kind }, version, suffix, created_at }: Given): NewVersion {
  const sha256 = SHA256;
  const facts = {
    project_id: id,
    version,
    published_by: STAGER,
    size_bytes: 1,
    sha256,
    repo: null,
    description: null,
    needs_agent: null,
    created_at,
  };
  const dek = { kek_id: "kek", sealed_dek: "c2ln" };
  const signed = { signature: "c2ln", signer_public_key: "c2ln" };
  return kind === "project"
    ? {
        ...{ ...facts, id: `art_${suffix}`, part: "artifact", project_name: SLUG, content_sha256: sha256 },
        ...{ archive_signature: null, ...signed, dek },
      }
    : {
        ...{ ...facts, id: `rel_${suffix}`, part: "archive", project_name: null, content_sha256: null },
        ...{ archive_signature: "c2ln", ...UNSIGNED, dek: null },
      };
}
