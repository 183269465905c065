import { type ColumnDataType, type Kysely, sql } from "kysely";
import { type Migration, type MigrationProvider, Migrator } from "kysely/migration";
import type { Dialect } from "./port.ts";

type Text = ColumnDataType | ReturnType<typeof sql>;

/** Keyset pages and host-id order need bytewise order: PostgreSQL's default collation is the locale's. */
const textOf = (dialect: Dialect): Text => (dialect === "postgres" ? sql`text collate "C"` : "text");

/** The channel of PostgreSQL on which each hub hears of the changed projects of all. */
export const CHANGES_CHANNEL = "sealift_changes";

/** Migrations for both databases, in order; a released one never changes. Text, bigint and indexes only. */
const migrations = (dialect: Dialect): Record<string, Migration> => {
  const text = textOf(dialect);
  return {
    "0001-surface-b-and-keys": {
      async up(db: Kysely<unknown>) {
        await db.schema
          .createTable("projects")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("kind", text, (column) => column.notNull())
          .addColumn("slug", text, (column) => column.notNull())
          .addColumn("name", text, (column) => column.notNull())
          .addColumn("owner", text, (column) => column.notNull())
          .addColumn("description", text)
          .addColumn("homepage", text)
          .addColumn("repository", text)
          .addColumn("visibility", text, (column) => column.notNull())
          .addColumn("latest_version", text)
          .addColumn("created_at", text, (column) => column.notNull())
          .addUniqueConstraint("projects_slug", ["kind", "slug"])
          .execute();
        await db.schema.createIndex("projects_owner").on("projects").columns(["owner", "id"]).execute();

        await db.schema
          .createTable("api_keys")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("name", text, (column) => column.notNull())
          .addColumn("owner", text, (column) => column.notNull())
          .addColumn("scopes", text, (column) => column.notNull())
          .addColumn("project_id", text, (column) => column.references("projects.id"))
          .addColumn("prefix", text, (column) => column.notNull())
          .addColumn("hash", text, (column) => column.notNull().unique())
          .addColumn("expires_at", text)
          .addColumn("revoked_at", text)
          .addColumn("created_at", text, (column) => column.notNull())
          .execute();
        await db.schema.createIndex("api_keys_owner").on("api_keys").columns(["owner", "id"]).execute();

        await db.schema
          .createTable("deployment_credentials")
          .addColumn("hash", text, (column) => column.primaryKey().notNull())
          .addColumn("key_id", text, (column) => column.notNull().references("api_keys.id"))
          .addColumn("project_id", text, (column) => column.notNull().references("projects.id"))
          .addColumn("created_at", text, (column) => column.notNull())
          .execute();

        await db.schema
          .createTable("sessions")
          .addColumn("hash", text, (column) => column.primaryKey().notNull())
          .addColumn("key_id", text, (column) => column.notNull().references("api_keys.id"))
          .addColumn("project_id", text, (column) => column.notNull().references("projects.id"))
          .addColumn("expires_at", text, (column) => column.notNull())
          .execute();
        await db.schema.createIndex("sessions_expiry").on("sessions").column("expires_at").execute();

        await db.schema
          .createTable("artifacts")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("project_id", text, (column) => column.notNull().references("projects.id"))
          .addColumn("version", text, (column) => column.notNull())
          .addColumn("project_name", text, (column) => column.notNull())
          .addColumn("content_sha256", text, (column) => column.notNull())
          .addColumn("artifact_sha256", text, (column) => column.notNull())
          .addColumn("size_bytes", "bigint", (column) => column.notNull())
          .addColumn("signature", text, (column) => column.notNull())
          .addColumn("signer_public_key", text, (column) => column.notNull())
          .addColumn("kek_id", text, (column) => column.notNull())
          .addColumn("sealed_dek", text, (column) => column.notNull())
          .addColumn("created_at", text, (column) => column.notNull())
          .addUniqueConstraint("artifacts_version", ["project_id", "version"])
          .execute();
        await db.schema
          .createIndex("artifacts_signature")
          .on("artifacts")
          .columns(["project_id", "signature"])
          .execute();

        await db.schema
          .createTable("keks")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("retired_at", text)
          .addColumn("created_at", text, (column) => column.notNull())
          .execute();

        await db.schema
          .createTable("sealed_secrets")
          .addColumn("name", text, (column) => column.primaryKey().notNull())
          .addColumn("kek_id", text, (column) => column.notNull())
          .addColumn("sealed", text, (column) => column.notNull())
          .addColumn("created_at", text, (column) => column.notNull())
          .execute();

        await db.schema
          .createTable("reports")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("holder", text, (column) => column.notNull())
          .addColumn("target", text, (column) => column.notNull())
          .addColumn("host_id", text, (column) => column.notNull())
          .addColumn("version", text, (column) => column.notNull())
          .addColumn("status", text, (column) => column.notNull())
          .addColumn("deployment_id", text)
          .addColumn("record", text, (column) => column.notNull())
          .addColumn("created_at", text, (column) => column.notNull())
          .addUniqueConstraint("reports_deployment", ["holder", "target", "deployment_id"])
          .execute();
        await db.schema.createIndex("reports_history").on("reports").columns(["holder", "target", "id"]).execute();
        await db.schema.createIndex("reports_age").on("reports").column("created_at").execute();

        await db.schema
          .createTable("hosts")
          .addColumn("holder", text, (column) => column.notNull())
          .addColumn("target", text, (column) => column.notNull())
          .addColumn("host_id", text, (column) => column.notNull())
          .addColumn("change", "bigint", (column) => column.notNull())
          .addColumn("report_id", text, (column) => column.notNull())
          .addColumn("record", text, (column) => column.notNull())
          .addPrimaryKeyConstraint("hosts_key", ["holder", "target", "host_id"])
          .execute();
        await db.schema.createIndex("hosts_change").on("hosts").columns(["holder", "target", "change"]).execute();
        await db.schema.createIndex("hosts_report").on("hosts").column("report_id").execute();

        await db.schema
          .createTable("views")
          .addColumn("holder", text, (column) => column.notNull())
          .addColumn("target", text, (column) => column.notNull())
          .addColumn("changes", "bigint", (column) => column.notNull())
          .addPrimaryKeyConstraint("views_key", ["holder", "target"])
          .execute();
      },
    },

    "0002-marketplace": {
      async up(db: Kysely<unknown>) {
        await db.schema.alterTable("projects").addColumn("detail", text).execute();
        await db.schema.alterTable("projects").addColumn("detail_etag", text).execute();
        await db.schema
          .createTable("releases")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("target_id", text, (column) => column.notNull().references("projects.id"))
          .addColumn("version", text, (column) => column.notNull())
          .addColumn("size_bytes", "bigint", (column) => column.notNull())
          .addColumn("sha256", text, (column) => column.notNull())
          .addColumn("signature", text, (column) => column.notNull())
          .addColumn("repo", text)
          .addColumn("is_yanked", "integer", (column) => column.notNull())
          .addColumn("yanked_reason", text)
          .addColumn("created_at", text, (column) => column.notNull())
          .addUniqueConstraint("releases_version", ["target_id", "version"])
          .execute();

        await db.schema
          .createTable("grants")
          .addColumn("target_id", text, (column) => column.notNull().references("projects.id"))
          .addColumn("grantee", text, (column) => column.notNull())
          .addColumn("created_at", text, (column) => column.notNull())
          .addPrimaryKeyConstraint("grants_key", ["target_id", "grantee"])
          .execute();
      },
    },
    "0100-deltas": {
      async up(db: Kysely<unknown>) {
        await db.schema
          .createTable("deltas")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("artifact_id", text, (column) => column.notNull().references("artifacts.id").onDelete("cascade"))
          .addColumn("project_id", text, (column) => column.notNull().references("projects.id"))
          .addColumn("base_version", text, (column) => column.notNull())
          .addColumn("base_content_sha256", text, (column) => column.notNull())
          .addColumn("artifact_sha256", text, (column) => column.notNull())
          .addColumn("size_bytes", "bigint", (column) => column.notNull())
          .addColumn("signature", text, (column) => column.notNull())
          .addColumn("signer_public_key", text, (column) => column.notNull())
          .addColumn("kek_id", text, (column) => column.notNull())
          .addColumn("sealed_dek", text, (column) => column.notNull())
          .addColumn("created_at", text, (column) => column.notNull())
          .addUniqueConstraint("deltas_base", ["artifact_id", "base_version"])
          .execute();
        await db.schema.createIndex("deltas_signature").on("deltas").columns(["project_id", "signature"]).execute();
        await db.schema
          .createTable("indexes")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("artifact_id", text, (column) =>
            column.notNull().unique().references("artifacts.id").onDelete("cascade"),
          )
          .addColumn("sha256", text, (column) => column.notNull())
          .addColumn("size_bytes", "bigint", (column) => column.notNull())
          .addColumn("created_at", text, (column) => column.notNull())
          .execute();
      },
    },

    "0102-audit": {
      async up(db: Kysely<unknown>) {
        await db.schema
          .createTable("audit")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("created_at", text, (column) => column.notNull())
          .addColumn("action", text, (column) => column.notNull())
          .addColumn("actor", text, (column) => column.notNull())
          .addColumn("key_id", text, (column) => column.notNull())
          .addColumn("subject", text, (column) => column.notNull())
          .addColumn("facts", text, (column) => column.notNull())
          .addColumn("address", text, (column) => column.notNull())
          .addColumn("request_id", text, (column) => column.notNull())
          .execute();
        await db.schema.createIndex("audit_age").on("audit").column("created_at").execute();
      },
    },

    "0110-version-management": {
      async up(db: Kysely<unknown>) {
        await db.schema
          .alterTable("artifacts")
          .addColumn("is_yanked", "integer", (column) => column.notNull().defaultTo(0))
          .execute();
        await db.schema.alterTable("artifacts").addColumn("yanked_reason", text).execute();
        // The newest versions of a project, for lists.
        await db.schema.createIndex("artifacts_newest").on("artifacts").columns(["project_id", "id"]).execute();
        await db.schema
          .createTable("deleted_versions")
          .addColumn("project_id", text, (column) => column.notNull().references("projects.id"))
          .addColumn("version", text, (column) => column.notNull())
          .addColumn("sha256", text, (column) => column.notNull())
          .addColumn("reason", text, (column) => column.notNull())
          .addColumn("deleted_at", text, (column) => column.notNull())
          .addPrimaryKeyConstraint("deleted_versions_key", ["project_id", "version"])
          .execute();
      },
    },

    "0111-quotas": {
      async up(db: Kysely<unknown>) {
        await db.schema
          .createTable("quotas")
          .addColumn("subject", text, (column) => column.primaryKey().notNull())
          .addColumn("max_bytes", "bigint")
          .addColumn("max_versions", "bigint")
          .execute();
      },
    },

    "0112-signers": {
      async up(db: Kysely<unknown>) {
        const columns = ["project_id", "signer_public_key"];
        await db.schema.createIndex("artifacts_signer").on("artifacts").columns(columns).execute();
      },
    },

    "0101-several-hubs": {
      async up(db: Kysely<unknown>) {
        await db.schema
          .createTable("hub_state")
          .addColumn("name", text, (column) => column.primaryKey().notNull())
          .addColumn("value", text, (column) => column.notNull())
          .execute();
        await db.schema
          .createTable("rate_counts")
          .addColumn("key", text, (column) => column.notNull())
          .addColumn("window_start", "bigint", (column) => column.notNull())
          .addColumn("count", "bigint", (column) => column.notNull())
          .addPrimaryKeyConstraint("rate_counts_key", ["key", "window_start"])
          .execute();
        await db.schema.createIndex("rate_counts_window").on("rate_counts").column("window_start").execute();
        // The newest versions of a target, and its newest yanked ones, without a look at all the others.
        await db.schema.createIndex("releases_newest").on("releases").columns(["target_id", "id"]).execute();
        await db.schema
          .createIndex("releases_yanked")
          .on("releases")
          .columns(["target_id", "is_yanked", "id"])
          .execute();
      },
    },

    "0113-fleets-that-forget": {
      async up(db: Kysely<unknown>) {
        await db.schema
          .alterTable("views")
          .addColumn("forgotten", "bigint", (column) => column.notNull().defaultTo(0))
          .execute();
        await db.schema.alterTable("hosts").addColumn("seen_at", text).execute();
      },
    },

    "0114-report-limits": {
      async up(db: Kysely<unknown>) {
        await db.schema
          .alterTable("views")
          .addColumn("bytes", "bigint", (column) => column.notNull().defaultTo(0))
          .execute();
        await sql`update views set bytes = coalesce((select sum(octet_length(r.record)) from reports r
          where r.holder = views.holder and r.target = views.target), 0)`.execute(db);
        const columns = ["holder", "target", "host_id", "id"];
        await db.schema.createIndex("reports_host").on("reports").columns(columns).execute();
      },
    },

    "0115-signers-and-last-use": {
      async up(db: Kysely<unknown>) {
        await db.schema.alterTable("api_keys").addColumn("last_used_at", text).execute();
        await db.schema
          .createTable("signers")
          .addColumn("project_id", text, (column) => column.notNull())
          .addColumn("public_key", text, (column) => column.notNull())
          .addColumn("name", text, (column) => column.notNull())
          .addColumn("added_at", text, (column) => column.notNull())
          .addColumn("added_by", text, (column) => column.notNull())
          .addColumn("retired_at", text)
          .addColumn("retired_by", text)
          .addColumn("revoked_at", text)
          .addColumn("revoked_by", text)
          .addColumn("reason", text)
          .addPrimaryKeyConstraint("signers_key", ["project_id", "public_key"])
          .execute();
      },
    },

    "0116-rollouts": {
      async up(db: Kysely<unknown>) {
        await db.schema.alterTable("projects").addColumn("rollout", text).execute();
        await db.schema.alterTable("hosts").addColumn("labels", text).execute();
        await db.schema
          .createTable("rollouts")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("project_id", text, (column) => column.notNull().references("projects.id"))
          .addColumn("version", text, (column) => column.notNull())
          .addColumn("base_version", text)
          .addColumn("state", text, (column) => column.notNull())
          .addColumn("rules", text, (column) => column.notNull())
          .addColumn("standing", text, (column) => column.notNull())
          .addColumn("progress", text, (column) => column.notNull())
          .addColumn("failures_since", text, (column) => column.notNull())
          .addColumn("is_withdrawn", "integer", (column) => column.notNull())
          .addColumn("revision", "bigint", (column) => column.notNull())
          .addColumn("created_at", text, (column) => column.notNull())
          .addColumn("created_by", text, (column) => column.notNull())
          .execute();
        await db.schema.createIndex("rollouts_project").on("rollouts").columns(["project_id", "id"]).execute();
        await db.schema.createIndex("rollouts_state").on("rollouts").column("state").execute();
      },
    },

    "0117-changes": {
      async up(db: Kysely<unknown>) {
        const columns = ["latest_version", "detail_etag", "rollout"];
        const differs = (word: string): string => columns.map((name) => `new.${name} ${word} old.${name}`).join(" or ");
        const after = `create trigger projects_changed after update of ${columns.join(", ")} on projects for each row`;
        if (dialect === "postgres") {
          await sql
            .raw(
              `create function sealift_changed() returns trigger language plpgsql as
              $$ begin perform pg_notify('${CHANGES_CHANNEL}', new.id); return null; end $$`,
            )
            .execute(db);
          const execute = "execute function sealift_changed()";
          await sql.raw(`${after} when (${differs("is distinct from")}) ${execute}`).execute(db);
        } else {
          // Numbers are never used twice: a hub has heard of all up to one.
          const keys = "number integer primary key autoincrement, project_id text not null unique";
          await sql.raw(`create table changes (${keys})`).execute(db);
          const note =
            "delete from changes where project_id = new.id; insert into changes (project_id) values (new.id);";
          await sql.raw(`${after} when ${differs("is not")} begin ${note} end`).execute(db);
        }
      },
    },

    "0118-webhooks": {
      async up(db: Kysely<unknown>) {
        await db.schema
          .createTable("webhooks")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("owner", text, (column) => column.notNull())
          .addColumn("name", text, (column) => column.notNull())
          .addColumn("origin", text, (column) => column.notNull())
          .addColumn("format", text, (column) => column.notNull())
          .addColumn("events", text, (column) => column.notNull())
          .addColumn("target", text)
          .addColumn("created_at", text, (column) => column.notNull())
          .addColumn("last_delivered_at", text)
          .addColumn("failing_since", text)
          .addColumn("last_error", text)
          .addColumn("disabled_at", text)
          .addColumn("dropped", "bigint", (column) => column.notNull())
          .execute();
        await db.schema.createIndex("webhooks_owner").on("webhooks").columns(["owner", "id"]).execute();
        // Without a reference to the webhook: a publication must not fail because one goes at the same moment.
        await db.schema
          .createTable("webhook_deliveries")
          .addColumn("id", text, (column) => column.primaryKey().notNull())
          .addColumn("webhook_id", text, (column) => column.notNull())
          .addColumn("event", text, (column) => column.notNull())
          .addColumn("body", text, (column) => column.notNull())
          .addColumn("state", text, (column) => column.notNull())
          .addColumn("attempts", "bigint", (column) => column.notNull())
          .addColumn("next_at", text, (column) => column.notNull())
          .addColumn("last_error", text)
          .addColumn("created_at", text, (column) => column.notNull())
          .execute();
        const byWebhook = ["webhook_id", "state", "id"];
        await db.schema.createIndex("deliveries_webhook").on("webhook_deliveries").columns(byWebhook).execute();
        await db.schema.createIndex("deliveries_due").on("webhook_deliveries").columns(["state", "next_at"]).execute();
      },
    },

    "0119-publishers": {
      async up(db: Kysely<unknown>) {
        for (const table of ["artifacts", "releases"])
          await db.schema.alterTable(table).addColumn("published_by", text).execute();
      },
    },

    "0120-steps": {
      async up(db: Kysely<unknown>) {
        await db.schema.alterTable("hosts").addColumn("steps", text).execute();
      },
    },
  };
};

/** The names of all migrations: the version of the schema. */
export const SCHEMA_VERSION: readonly string[] = Object.keys(migrations("sqlite")).toSorted();

/** Brings the database to the newest schema. Several hubs may start at once: the migrator takes its lock. */
export async function migrate(db: Kysely<never>, dialect: Dialect): Promise<void> {
  const provider: MigrationProvider = { getMigrations: () => Promise.resolve(migrations(dialect)) };
  const { error } = await new Migrator({ db, provider }).migrateToLatest();
  if (error !== undefined) throw error instanceof Error ? error : new Error("migration failed", { cause: error });
}
