import type { AuditRecord, HubFacts } from "../../contract/surfaces/keys.ts";
import type { Paged } from "../page/api.ts";
import { Field } from "../page/forms.tsx";
import { Layout } from "../page/layout.tsx";
import { Badge, Empty, Facts, Go, Pager, Section, Size, Table, Time } from "../page/parts.tsx";
import { pagePaths, useView } from "../page/view.ts";

/** The audit log, for administrators. */
export function AuditPage({
  items,
  cursor,
  next,
  action,
  actor,
  keys,
  projects,
}: Paged<AuditRecord> & {
  action: string;
  actor: string;
  /** Names of keys by their ids, and of projects, plugins and services; those that the hub knows. */
  keys: ReadonlyMap<string, string>;
  projects: ReadonlyMap<string, string>;
}) {
  const { base } = useView();
  const query = { action, actor };
  return (
    <Layout title="Audit">
      <h1>Audit</h1>
      <form className="filter" action={base + pagePaths.audit()} role="search" aria-label="Deeds">
        <Field label="Action" name="action" defaultValue={action} maxLength={64} placeholder="key.create" />
        <Field label="Actor" name="actor" defaultValue={actor} maxLength={255} />
        <button>Show</button>
        {(action !== "" || actor !== "") && <Go to={pagePaths.audit()}>Show all</Go>}
      </form>
      <Table
        label="Audit log"
        empty={<Empty title="Nothing like that was done." />}
        columns={["When", "Action", "Who", ["To", "path"], ["Facts", "path"], ["From", "num"]]}
        rows={items.map((deed) => [
          deed.id,
          <Time at={deed.created_at} hasSeconds />,
          <code>{deed.action}</code>,
          <>
            {deed.actor}
            {deed.key_id !== "" && (
              <p className="slug">
                by the key <Named id={deed.key_id} name={keys.get(deed.key_id)} />
              </p>
            )}
          </>,
          <Named id={deed.subject} name={projects.get(deed.subject) ?? keys.get(deed.subject)} />,
          factsText(deed.facts),
          deed.address,
        ])}
      />
      <Pager to={pagePaths.audit()} query={query} at={cursor} next={next} />
    </Layout>
  );
}

/** The name of something, with its id; the id alone of what has no name here. */
const Named = ({ id, name }: { id: string; name: string | undefined }) =>
  name === undefined ? id : <span title={id}>{name}</span>;

const factsText = (facts: AuditRecord["facts"]): string =>
  Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(", ");

/** The hub's own account of itself, as `/readyz?verbose` gives it. */
export interface Readiness {
  status: "ok" | "degraded" | "unavailable";
  parts?: Record<string, { ok: boolean; duration_ms: number; trouble?: string }>;
  connections?: { open: number; vouched: number; most?: number; shed: number };
  descriptors?: { open: number; limit: number };
  lost_blobs?: number;
  unexplained_blobs?: number;
}

const PART_NAMES: Record<string, string> = {
  database_read: "Database, reading",
  database_write: "Database, writing",
  blobs: "Storage of artifacts",
};

/** The hub's health, for administrators. */
export function HealthPage({ readiness, facts }: { readiness: Readiness; facts: HubFacts }) {
  const { status, parts = {}, connections, descriptors, lost_blobs: lost = 0 } = readiness;
  return (
    <Layout title="Hub">
      <div className="title-row">
        <h1>Hub</h1>
        <Badge tone={status === "ok" ? "good" : status === "degraded" ? "warn" : "bad"}>{status}</Badge>
      </div>
      <Section id="parts" title="Parts">
        <Table
          label="Parts"
          columns={["Part", "State", ["Answers in", "num"]]}
          rows={Object.entries(parts).map(([name, { ok, duration_ms: ms, trouble }]) => [
            name,
            PART_NAMES[name] ?? name,
            <Badge tone={ok ? "good" : "bad"}>{ok ? "works" : (trouble ?? "failed")}</Badge>,
            `${ms} ms`,
          ])}
        />
      </Section>
      <Section id="process" title="Process">
        <Facts
          of={{
            Started: <Time at={facts.started_at} />,
            Memory: <Size bytes={facts.resident_bytes} />,
            Database: facts.database === "postgres" ? "PostgreSQL" : "SQLite",
            Storage: facts.blobs,
            Connections: connections && (
              <span className="num">
                {connections.open}
                {connections.most === undefined ? "" : ` of ${connections.most}`}
              </span>
            ),
            "Files and sockets": descriptors && (
              <span className="num">
                {descriptors.open} of {descriptors.limit}
              </span>
            ),
            "Lost artifacts": <Badge tone={lost === 0 ? "good" : "bad"}>{lost === 0 ? "none" : String(lost)}</Badge>,
          }}
        />
      </Section>
      <Section id="backups" title="Backups">
        <Empty
          title="The hub does not know of its backups: they are made beside it."
          command="sealift hub backup --to /backups/sealift --key backup.key"
        >
          Make one each day, and check it with <code>sealift hub verify --backup</code>:
        </Empty>
      </Section>
    </Layout>
  );
}
