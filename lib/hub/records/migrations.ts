import { type Kysely, sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { usageError } from "../../contract/errors.ts";
import { renewHosts } from "./host-rows.ts";
import type { Dialect, Transacted } from "./port.ts";

/** The channel of PostgreSQL on which each hub hears of the changed projects of all. */
export const CHANGES_CHANNEL = "sealift_changes";

const CHANGED = "create trigger projects_changed after update of latest_version, detail_etag, rollout on projects";

const POSTGRES_CHANGES = [
  `create function sealift_changed() returns trigger language plpgsql as
    $$ begin perform pg_notify('${CHANGES_CHANNEL}', new.id); return null; end $$`,
  `${CHANGED} for each row
    when (new.latest_version is distinct from old.latest_version or new.detail_etag is distinct from old.detail_etag
      or new.rollout is distinct from old.rollout)
    execute function sealift_changed()`,
];

const SQLITE_CHANGES = [
  // Numbers are never used twice: a hub has heard of all up to one.
  "create table changes (number integer primary key autoincrement, project_id text not null unique)",
  `${CHANGED} for each row
    when new.latest_version is not old.latest_version or new.detail_etag is not old.detail_etag
      or new.rollout is not old.rollout
    begin
      delete from changes where project_id = new.id;
      insert into changes (project_id) values (new.id);
    end`,
];

/** Migrations for both databases, in order; a released one never changes. Text, bigint and indexes only. */
const statementsOf = (dialect: Dialect): Record<string, readonly string[]> => ({
  "0001-first": [
    `create table projects (
      id text not null primary key, kind text not null, slug text not null, name text not null, owner text not null,
      description text, homepage text, repository text, visibility text not null, latest_version text,
      created_at text not null, detail text, detail_etag text, rollout text,
      constraint projects_slug unique (kind, slug))`,
    "create index projects_owner on projects (owner, id)",
    ...(dialect === "postgres" ? POSTGRES_CHANGES : SQLITE_CHANGES),
    `create table api_keys (
      id text not null primary key, name text not null, owner text not null, scopes text not null,
      project_id text references projects (id), prefix text not null, hash text not null unique, expires_at text,
      revoked_at text, created_at text not null, last_used_at text)`,
    "create index api_keys_owner on api_keys (owner, id)",
    `create table deployment_credentials (
      hash text not null primary key, key_id text not null references api_keys (id),
      project_id text not null references projects (id), created_at text not null)`,
    `create table sessions (
      hash text not null primary key, key_id text not null references api_keys (id),
      project_id text not null references projects (id), expires_at text not null)`,
    "create index sessions_expiry on sessions (expires_at)",
    `create table grants (
      target_id text not null references projects (id), grantee text not null, created_at text not null,
      constraint grants_key primary key (target_id, grantee))`,

    `create table artifacts (
      id text not null primary key, project_id text not null references projects (id), version text not null,
      project_name text not null, content_sha256 text not null, artifact_sha256 text not null,
      size_bytes bigint not null, signature text not null, signer_public_key text not null, kek_id text not null,
      sealed_dek text not null, created_at text not null, is_yanked integer default 0 not null, yanked_reason text,
      published_by text, constraint artifacts_version unique (project_id, version))`,
    "create index artifacts_signature on artifacts (project_id, signature)",
    // The newest versions of a project, for lists.
    "create index artifacts_newest on artifacts (project_id, id)",
    "create index artifacts_signer on artifacts (project_id, signer_public_key)",
    `create table deltas (
      id text not null primary key, artifact_id text not null references artifacts (id) on delete cascade,
      project_id text not null references projects (id), base_version text not null,
      base_content_sha256 text not null, artifact_sha256 text not null, size_bytes bigint not null,
      signature text not null, signer_public_key text not null, kek_id text not null, sealed_dek text not null,
      created_at text not null, constraint deltas_base unique (artifact_id, base_version))`,
    "create index deltas_signature on deltas (project_id, signature)",
    `create table indexes (
      id text not null primary key, artifact_id text not null unique references artifacts (id) on delete cascade,
      sha256 text not null, size_bytes bigint not null, created_at text not null)`,
    `create table releases (
      id text not null primary key, target_id text not null references projects (id), version text not null,
      size_bytes bigint not null, sha256 text not null, signature text not null, repo text,
      is_yanked integer not null, yanked_reason text, created_at text not null, published_by text,
      constraint releases_version unique (target_id, version))`,
    // The newest versions of a target, and its newest yanked ones, without a look at all the others.
    "create index releases_newest on releases (target_id, id)",
    "create index releases_yanked on releases (target_id, is_yanked, id)",
    `create table version_states (
      project_id text not null references projects (id), version text not null, state text not null,
      cause text not null, rollout_id text not null, since text not null, reason text,
      is_taken_back integer not null, told_at text,
      constraint version_states_key primary key (project_id, version))`,
    `create table deleted_versions (
      project_id text not null references projects (id), version text not null, sha256 text not null,
      reason text not null, deleted_at text not null,
      constraint deleted_versions_key primary key (project_id, version))`,
    `create table deleted_projects (
      id text not null primary key, kind text not null, slug text not null, owner text not null,
      deleted_at text not null, cleared_at text)`,
    "create index deleted_projects_slug on deleted_projects (kind, slug)",
    `create table signers (
      project_id text not null, public_key text not null, name text not null, added_at text not null,
      added_by text not null, retired_at text, retired_by text, revoked_at text, revoked_by text, reason text,
      constraint signers_key primary key (project_id, public_key))`,
    "create table keks (id text not null primary key, retired_at text, created_at text not null)",
    `create table sealed_secrets (
      name text not null primary key, kek_id text not null, sealed text not null, created_at text not null)`,

    `create table reports (
      id text not null primary key, holder text not null, target text not null, host_id text not null,
      version text not null, status text not null, deployment_id text, record text not null, created_at text not null,
      constraint reports_deployment unique (holder, target, deployment_id))`,
    "create index reports_history on reports (holder, target, id)",
    "create index reports_host on reports (holder, target, host_id, id)",
    "create index reports_age on reports (created_at)",
    `create table hosts (
      holder text not null, target text not null, host_id text not null, change bigint not null,
      report_id text not null, record text not null, seen_at text, labels text, steps text,
      first_change bigint default 0 not null, constraint hosts_key primary key (holder, target, host_id))`,
    "create index hosts_change on hosts (holder, target, change)",
    "create index hosts_report on hosts (report_id)",
    `create table views (
      holder text not null, target text not null, changes bigint not null, forgotten bigint default 0 not null,
      bytes bigint default 0 not null, constraint views_key primary key (holder, target))`,
    `create table rollouts (
      id text not null primary key, project_id text not null references projects (id), version text not null,
      base_version text, state text not null, rules text not null, standing text not null, progress text not null,
      failures_since text not null, revision bigint not null, created_at text not null, created_by text not null,
      known_changes bigint default 0 not null, counted_until text)`,
    "create index rollouts_project on rollouts (project_id, id)",
    "create index rollouts_state on rollouts (state)",

    `create table webhooks (
      id text not null primary key, owner text not null, name text not null, origin text not null,
      format text not null, events text not null, target text, created_at text not null, last_delivered_at text,
      failing_since text, last_error text, disabled_at text, dropped bigint not null)`,
    "create index webhooks_owner on webhooks (owner, id)",
    // Without a reference to the webhook: a publication must not fail because one goes at the same moment.
    `create table webhook_deliveries (
      id text not null primary key, webhook_id text not null, event text not null, body text not null,
      state text not null, attempts bigint not null, next_at text not null, last_error text, created_at text not null)`,
    "create index deliveries_webhook on webhook_deliveries (webhook_id, state, id)",
    "create index deliveries_due on webhook_deliveries (state, next_at)",
    "create table quotas (subject text not null primary key, max_bytes bigint, max_versions bigint)",
    `create table audit (
      id text not null primary key, created_at text not null, action text not null, actor text not null,
      key_id text not null, subject text not null, facts text not null, address text not null,
      request_id text not null)`,
    "create index audit_age on audit (created_at)",
    "create table hub_state (name text not null primary key, value text not null)",
    `create table rate_counts (
      key text not null, window_start bigint not null, count bigint not null,
      constraint rate_counts_key primary key (key, window_start))`,
    "create index rate_counts_window on rate_counts (window_start)",
  ],
  "0002-fleet-lists": [
    "alter table hosts add column state text default 'ok' not null",
    "alter table hosts add column shown_version text default '' not null",
    "alter table hosts add column heard_at text default '9999-12-31T23:59:59.999Z' not null",
    // Lists by state and by version, and their counts, without a look at any record.
    "create index hosts_state on hosts (holder, target, state, host_id, heard_at)",
    "create index hosts_version on hosts (holder, target, shown_version, state, host_id, heard_at)",
    `create table host_labels (
      holder text not null, target text not null, label text not null, host_id text not null,
      constraint host_labels_key primary key (holder, target, label, host_id))`,
  ],
});

/** Work of a migration that needs more than statements. */
const WORK: Record<string, (db: Transacted) => Promise<void>> = {
  "0002-fleet-lists": renewHosts,
};

/** The names of all migrations: the version of the schema. */
export const SCHEMA_VERSION: readonly string[] = Object.keys(statementsOf("sqlite")).toSorted();

/** Keyset pages and host-id order need bytewise order: PostgreSQL's default collation is the locale's. */
const inBytewiseOrder = (statement: string): string => statement.replace(/\btext\b/g, 'text collate "C"');

const migrationOf = (name: string, statements: readonly string[], dialect: Dialect): Migration => ({
  async up(db) {
    for (const each of statements) await sql.raw(dialect === "postgres" ? inBytewiseOrder(each) : each).execute(db);
    // The migrator runs all of them in one transaction, where the database allows it: both do.
    await WORK[name]?.(db as Transacted);
  },
});

/**
 * Brings the database to the newest schema. Several hubs may start at once: the migrator takes its lock.
 *
 * @throws UsageError `usage` for a schema of another version
 */
export async function migrate(db: Kysely<never>, dialect: Dialect): Promise<void> {
  const all = Object.entries(statementsOf(dialect)).map(
    ([name, each]) => [name, migrationOf(name, each, dialect)] as const,
  );
  const provider = { getMigrations: () => Promise.resolve(Object.fromEntries(all)) };
  const { error } = await new Migrator({ db, provider }).migrateToLatest();
  if (error instanceof Error && error.message.startsWith("corrupted migrations"))
    throw usageError("usage", "The database has a schema that this version of Sealift does not know.", {
      hint: "Use the version of Sealift that opened it last: it is newer than this one, or older than the first release.",
      cause: error,
    });
  if (error !== undefined) throw error instanceof Error ? error : new Error("migration failed", { cause: error });
}
