import type { AuditRecord, HubFacts, ProjectRecord, QuotaRecord } from "../../contract/surfaces/keys.ts";
import type { Paged } from "./api.ts";
import { Field } from "./forms.tsx";
import { Layout } from "./layout.tsx";
import { Badge, Bar, Empty, Facts, Go, Pager, Section, Size, Table, Time } from "./parts.tsx";
import { pagePaths, useView } from "./view.ts";

/** The own projects, plugins and services. */
export function ProjectsPage({ items, cursor, next }: Paged<ProjectRecord>) {
  return (
    <Layout title="Projects">
      <h1>Projects</h1>
      <Table
        label="Projects"
        empty={
          <Empty title="Nothing of yours yet." command={'sealift projects create "My project" --kind project'}>
            Projects are sealed for their hosts; plugins and services are in the catalogue. Create one:
          </Empty>
        }
        columns={["Name", "Kind", ["Latest", "num"], "Owner", "Created"]}
        rows={items.map(({ id, name, kind, slug, latest_version: latest, owner, created_at }) => [
          id,
          <>
            <Go to={pagePaths.target(kind, kind === "project" ? id : slug)}>{name}</Go>
            <p className="slug">{slug}</p>
          </>,
          kind,
          latest ?? <span className="faint">none</span>,
          owner,
          <Time at={created_at} />,
        ])}
      />
      <Pager to={pagePaths.projects()} at={cursor} next={next} />
    </Layout>
  );
}

/** The audit log, for administrators. */
export function AuditPage({
  items,
  cursor,
  next,
  action,
  actor,
}: Paged<AuditRecord> & { action: string; actor: string }) {
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
          <Time at={deed.created_at} />,
          <code>{deed.action}</code>,
          <>
            {deed.actor}
            <p className="slug">{deed.key_id}</p>
          </>,
          deed.subject,
          factsText(deed.facts),
          deed.address,
        ])}
      />
      <Pager to={pagePaths.audit()} query={query} at={cursor} next={next} />
    </Layout>
  );
}

const factsText = (facts: AuditRecord["facts"]): string =>
  Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(", ");

/** The part of each quota that is used. */
export function QuotasPage({ items, cursor, next }: Paged<QuotaRecord>) {
  return (
    <Layout title="Quotas">
      <h1>Quotas</h1>
      <p className="lead">Artifacts, archives, deltas, indexes and reports count.</p>
      <ul className="fleets">
        {items.map((quota) => (
          <li key={quota.subject}>
            <h2>{titleOf(quota)}</h2>
            <Used quota={quota} />
          </li>
        ))}
      </ul>
      <Pager to={pagePaths.quotas()} at={cursor} next={next} />
      <p className="help">
        An operator sets quotas on the hub&rsquo;s machine with <code>sealift hub quota set</code>.
      </p>
    </Layout>
  );
}

const titleOf = ({ subject }: QuotaRecord): string => subject.replace("/", " ");

function Used({ quota }: { quota: QuotaRecord }) {
  const { usage, max_bytes: most, max_versions: mostVersions } = quota;
  const title = titleOf(quota);
  const part = most === null ? 0 : usage.bytes / Math.max(most, 1);
  return (
    <>
      {most !== null && (
        <Bar
          label={`${title}: ${Math.round(part * 100)}% of its bytes are used`}
          shares={[
            { label: "used", count: Math.min(usage.bytes, most), tone: part > 0.9 ? "bad" : "busy" },
            { label: "free", count: Math.max(0, most - usage.bytes), tone: "calm" },
          ]}
        />
      )}
      <p>
        <Size bytes={usage.bytes} />{" "}
        {most === null ? (
          "stored, without a limit"
        ) : (
          <>
            of <Size bytes={most} />
          </>
        )}{" "}
        ·{" "}
        <span className="num">
          {usage.versions}
          {mostVersions === null ? "" : ` of ${mostVersions}`}
        </span>{" "}
        {usage.versions === 1 ? "version" : "versions"}
      </p>
    </>
  );
}

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
