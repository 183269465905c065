import type { FastifyRequest } from "fastify";
import { shownFacts } from "../../contract/audit/facts.ts";
import { listAudit } from "../../contract/audit/routes.ts";
import { showReadiness } from "../../contract/health/routes.ts";
import { showHub } from "../../contract/hub/routes.ts";
import { listKeys } from "../../contract/keys/routes.ts";
import { listProjects } from "../../contract/projects/routes.ts";
import type { HubFacts } from "../../contract/surfaces/keys.ts";
import { notFound } from "../../hub/base/errors.ts";
import { isAdministrator } from "../../hub/base/principal.ts";
import { type Api, type ApiCall, callTo, type Listed } from "../page/api.ts";
import { queryOf, requirePrincipal, type Screen } from "../page/context.ts";
import { Field, Filter } from "../page/forms.tsx";
import { Layout } from "../page/layout.tsx";
import { ListPage } from "../page/list-page.tsx";
import { Badge, Empty, FactList, Go, Section, Size, Table, Time, withNotes } from "../page/parts.tsx";
import { pagePaths } from "../page/view.ts";

/** Answers 404 to everybody but administrators, as if the page did not exist. */
function requireAdministrator(request: FastifyRequest): void {
  if (!isAdministrator(requirePrincipal(request))) throw notFound("There is no such page.");
}

/** Shows the audit log, for administrators. */
export const audit: Screen = async ({ api }, request) => {
  requireAdministrator(request);
  const [action, actor] = [queryOf(request, "action"), queryOf(request, "actor")];
  const asked = callTo(listAudit, { query: { action, actor, limit: "100" } });
  const { items, ...page } = await api.page(request, asked);
  const ids = items.flatMap(({ key_id: key, subject }) => [key, subject]);
  const wanted = (form: RegExp) => new Set(ids.filter((id) => form.test(id)));
  const keys = await namesIn(api, request, wanted(/^key_/), (query) => callTo(listKeys, { query }));
  const projects = await namesIn(api, request, wanted(/^(?:prj|plg|svc)_/), (query) => callTo(listProjects, { query }));
  return (
    <ListPage
      title="Audit"
      label="Audit log"
      above={
        <Filter to={pagePaths.audit()} label="Deeds">
          <Field label="Action" name="action" defaultValue={action} maxLength={64} placeholder="key.create" />
          <Field label="Actor" name="actor" defaultValue={actor} maxLength={255} />
          <button>Show</button>
          {(action !== "" || actor !== "") && <Go to={pagePaths.audit()}>Show all</Go>}
        </Filter>
      }
      columns={["When", "Action", "Who", ["To", "path"], ["Facts", "path"], ["From", "num"]]}
      rows={items.map(({ id, key_id: key, subject, ...entry }) => [
        id,
        <Time at={entry.created_at} hasSeconds />,
        <code>{entry.action}</code>,
        withNotes(entry.actor, key !== "" && <>by the key {named(key, keys.get(key))}</>),
        named(subject, projects.get(subject) ?? keys.get(subject)),
        shownFacts(entry.facts)
          .map(([name, text]) => `${name}: ${text}`)
          .join(", "),
        entry.address,
      ])}
      empty={<Empty title="Nothing like that was done." />}
      to={pagePaths.audit()}
      query={{ action, actor }}
      {...page}
    />
  );
};

/** Returns a name with its id; the id alone without a name. */
const named = (id: string, name: string | undefined) => (name === undefined ? id : <span title={id}>{name}</span>);

/** Most pages of a list read for names: on a larger hub, some old entries are shown by id. */
const NAME_PAGES = 10;

/** Finds the names of things by their ids in a list of them. @param wanted loses the ids that are found */
async function namesIn(
  api: Api,
  request: FastifyRequest,
  wanted: Set<string>,
  listed: (query: { limit: string; cursor: string }) => ApiCall<Listed<{ id: string; name: string }>>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  let cursor: string | null = "";
  for (let page = 0; page < NAME_PAGES && cursor !== null && wanted.size > 0; page++) {
    const { items, next }: Listed<{ id: string; name: string }> = await api.call(
      request,
      listed({ limit: "200", cursor }),
    );
    for (const { id, name } of items) if (wanted.delete(id)) names.set(id, name);
    cursor = next;
  }
  return names;
}

/** Readiness of the hub, in the form of `/readyz?verbose`. */
interface Readiness {
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

/** Shows the hub's health, for administrators. */
export const health: Screen = async ({ api }, request) => {
  requireAdministrator(request);
  const { bytes } = await api.send(request, callTo(showReadiness, { query: { verbose: "1" } }));
  const readiness = JSON.parse(bytes.toString()) as Readiness;
  const { status, parts = {} } = readiness;
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
        {processFacts(readiness, await api.call(request, callTo(showHub, {})))}
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
};

const processFacts = ({ connections, descriptors, lost_blobs: lost = 0 }: Readiness, facts: HubFacts) => (
  <FactList
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
);
