import { blobId, count, name, text, time, yes } from "../../records/columns.ts";
import { type RowOf, table } from "../../records/table.ts";
import { blobs } from "../../records/version-tables.ts";

// Derived from stored SBOMs: backups and moves skip these tables, and a hub builds them again.

/** Components, each stored once however many versions have it. */
export const components = table(
  "components",
  {
    id: count,
    /** SHA-256 over all other columns. */
    digest: name,
    name: text,
    version: text,
    purl: text,
    /** Package URL without version, qualifiers and subpath; empty without one. */
    package: text,
  },
  {
    unique: { components_digest: ["digest"] },
    indexes: { components_name: ["name"], components_package: ["package"] },
    copied: false,
  },
);

/** SBOMs of versions, with the progress of their indexing. */
export const componentLists = table(
  "component_lists",
  {
    id: count,
    blob_id: blobId,
    /** Last sign of life of its indexing; before 1971 while none has begun. */
    begun_at: time,
    is_complete: yes,
  },
  {
    unique: { component_lists_blob: ["blob_id"] },
    references: { blob_id: { table: blobs, cascades: true } },
    added: { "0004-pending-sboms": { columns: [], indexes: { component_lists_pending: ["is_complete", "id"] } } },
    copied: false,
  },
);

/** Components of each SBOM. */
export const componentUses = table(
  "component_uses",
  { component_id: count, list_id: count },
  {
    key: ["component_id", "list_id"],
    indexes: { component_uses_list: ["list_id"] },
    references: { component_id: components, list_id: { table: componentLists, cascades: true } },
    copied: false,
  },
);

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = {
  components: RowOf<typeof components>;
  component_lists: RowOf<typeof componentLists>;
  component_uses: RowOf<typeof componentUses>;
};
