import { hostFingerprint } from "../../../artifact/sealed/host-key.ts";
import { publicKeyHex, sha256Hex } from "../../../contract/identifiers.ts";
import { kitId } from "../../../contract/kits/texts.ts";
import { name, projectId, text, time } from "../../records/columns.ts";
import { projects } from "../../records/core-tables.ts";
import type { Queries } from "../../records/port.ts";
import { type AnyRow, type RowOf, table } from "../../records/table.ts";

const SINCE = "0018-kits";

/** Kits that were made. What is sealed to their hosts is kept nowhere. */
export const kits = table(
  "kits",
  {
    id: kitId,
    /** Project, plugin or service. */
    project_id: projectId,
    /** Holder of the fleet that its reports go into: the maker's owner for a plugin or service, else empty. */
    holder: text,
    version: name,
    digest: sha256Hex,
    made_at: time,
    ends_at: time,
    /** Id of the API key that made it, and that key's owner. */
    made_by: name,
    owner: name,
    ended_at: time.nullable(),
    /** Project of the hosts, for a plugin or service; null for a project's own kit, and where its maker named none. */
    hosts_project_id: projectId.nullable(),
  },
  {
    references: { project_id: projects, hosts_project_id: projects },
    indexes: { kits_project: ["project_id", "id"] },
    since: SINCE,
    added: {
      "0019-hosts-of-kits": {
        columns: ["hosts_project_id"],
        indexes: { kits_hosts_project: ["hosts_project_id", "id"], kits_end: ["ends_at"] },
      },
    },
  },
);
export type KitsTable = RowOf<typeof kits>;

const hostFault = ({ x25519, ed25519, fingerprint }: AnyRow): string | undefined =>
  hostFingerprint({ x25519: String(x25519), ed25519: String(ed25519) }) === fingerprint
    ? undefined
    : "fingerprint: is another one than that of the keys";

/** Hosts that can open a kit, with the keys by which their reports are verified. */
export const kitHosts = table(
  "kit_hosts",
  {
    kit_id: kitId,
    fingerprint: sha256Hex,
    host_id: name,
    x25519: publicKeyHex,
    ed25519: publicKeyHex,
    /** Time when the host was removed from the project; null for none. */
    removed_at: time.nullable(),
  },
  {
    key: ["kit_id", "fingerprint"],
    references: { kit_id: { table: kits, cascades: true } },
    since: SINCE,
    faultOf: hostFault,
  },
);
export type KitHostsTable = RowOf<typeof kitHosts>;

/** Keys of hosts that were removed from a project, for which no kit is made again. */
export const removedKeys = table(
  "removed_host_keys",
  {
    project_id: projectId,
    fingerprint: sha256Hex,
    /** Name of the host when it was removed. */
    host_id: name,
    removed_at: time,
  },
  { key: ["project_id", "fingerprint"], references: { project_id: projects }, since: "0020-removed-host-keys" },
);

/** Reports that kits have brought, for as long as the kits are kept: the log may have forgotten them. */
export const kitReports = table(
  "kit_reports",
  {
    /** SHA-256 of its view, and of the identity of its deployment there (received-reports.ts). */
    report: sha256Hex,
    kit_id: kitId,
  },
  {
    key: ["report"],
    indexes: { kit_reports_kit: ["kit_id"] },
    references: { kit_id: { table: kits, cascades: true } },
    since: "0021-kit-reports",
  },
);

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = {
  kits: KitsTable;
  kit_hosts: KitHostsTable;
  removed_host_keys: RowOf<typeof removedKeys>;
  kit_reports: RowOf<typeof kitReports>;
};

/** The database with the tables of this feature. */
export const own = (db: Queries) => db.withTables<OwnTables>();
