import { needsText, olderHosts } from "../../contract/agent-counts.ts";
import { countProjectFleet } from "../../contract/fleets/routes.ts";
import * as routes from "../../contract/projects/routes.ts";
import { may } from "../../hub/base/principal.ts";
import { callTo } from "../page/api.ts";
import { deployCommand } from "../page/commands.ts";
import { field, param, queryOf, requirePrincipal, type Screen } from "../page/context.ts";
import { Field, Opened, Select } from "../page/forms.tsx";
import { ListPage } from "../page/list-page.tsx";
import { Command, Empty, FactList, Go, Pager, Section, Size, Table, Time, withNotes } from "../page/parts.tsx";
import { TargetLayout } from "../page/target-layout.tsx";
import { Signer } from "../page/version-marks.tsx";
import { pagePaths } from "../page/view.ts";
import { Acts, managedVersions, Published, publishersOf, Version } from "./version-parts.tsx";

const countsOf = (id: string) => callTo(countProjectFleet, { params: { project_id: id } });

/** Lists the caller's projects, plugins and services, with a form for a new one. */
export const projects: Screen = async ({ api }, request) => {
  const principal = requirePrincipal(request);
  const { items, ...page } = await api.page(request, callTo(routes.listProjects, { query: { limit: "100" } }));
  return (
    <ListPage
      title="Projects"
      above={may(principal, "projects") && principal.projectId === null && <CreateForm />}
      columns={["Name", "Kind", ["Latest", "num"], "Owner", "Created"]}
      rows={items.map(({ id, name, kind, slug, latest_version: latest, owner, created_at }) => [
        id,
        withNotes(<Go to={pagePaths.target(kind, kind === "project" ? id : slug)}>{name}</Go>, slug),
        kind,
        latest ?? <span className="faint">none</span>,
        owner,
        <Time at={created_at} />,
      ])}
      empty={
        <Empty title="Nothing of yours yet." command={'sealift project create "My project" --kind project'}>
          Projects are sealed for their hosts; plugins and services are in the catalogue. Create one:
        </Empty>
      }
      to={pagePaths.projects()}
      {...page}
    />
  );
};

const KINDS = [
  ["project", "project: encrypted for its hosts"],
  ["plugin", "plugin: in the catalogue"],
  ["service", "service: in the catalogue"],
] as const;

const CreateForm = () => (
  <Opened className="panel" title="Create a project" to={pagePaths.projects()}>
    <Field label="Name" name="name" required maxLength={255} placeholder="Harbour" />
    <Select label="Kind" name="kind" of={KINDS} />
    <Field
      label="Slug, of a plugin or service: its name in commands"
      name="slug"
      maxLength={128}
      placeholder="tide-table"
    />
    <button>Create it</button>
  </Opened>
);

/** Creates a project, plugin or service, and goes to its page. */
export const createProject: Screen = async ({ api }, request) => {
  const body = { name: field(request, "name") ?? "", kind: field(request, "kind"), slug: field(request, "slug") };
  const { id, kind, slug } = await api.call(request, callTo(routes.createProject, { body }));
  return { goTo: pagePaths.target(kind, kind === "project" ? id : slug) };
};

/**
 * Shows a project of surface B. Its artifacts are sealed: the hub knows their sizes and signers, but not their
 * contents.
 */
export const project: Screen = async ({ api, hub }, request) => {
  const project = await api.call(request, callTo(routes.showProject, { params: { id: param(request, "slug") } }));
  const { id, kind, slug, name, latest_version: latest } = project;
  if (kind !== "project") return { goTo: pagePaths.target(kind, slug) };
  const cursor = queryOf(request, "cursor");
  const { items: versions, next } = await api.call(request, managedVersions(id, cursor));
  const publishers = publishersOf(versions);
  // Only for what hosts have to have, and for a key that may know.
  const hasNeeds = versions.some(({ needs_agent: needed }) => needed !== undefined);
  const counts = hasNeeds && may(requirePrincipal(request), "read") ? await api.call(request, countsOf(id)) : {};
  const here = pagePaths.target(kind, id);
  return (
    <TargetLayout kind={kind} slug={id} name={name} isControlled>
      <div className="columns">
        <Section id="versions" title="Versions">
          <Table
            label="Versions"
            empty={
              <Empty
                title="Nothing is published yet."
                command={`sealift project publish . --project-id ${id} --version 1.0.0 --signing-key-file signer.key`}
              />
            }
            columns={["Version", "Published", "Size", "Deltas", "Signer", ["", "acts"]]}
            rows={versions.map(({ deltas = [], signer_public_key: signer, ...each }) => [
              each.version,
              withNotes(
                <Version of={each} isLatest={each.is_latest} />,
                each.needs_agent !== undefined && needsText(each.needs_agent, olderHosts(each.needs_agent, counts)),
              ),
              <Published at={each.created_at} by={publishers.get(each.version)} />,
              <Size bytes={each.size_bytes} />,
              deltas.length === 0 ? (
                <span className="faint">none</span>
              ) : (
                deltas.map(({ base_version: base, size_bytes: bytes }) => (
                  <p key={base} className="delta">
                    from <span className="num">{base}</span>: <Size bytes={bytes} />
                  </p>
                ))
              ),
              signer !== null && <Signer of={signer} />,
              <Acts at={here} of={each} />,
            ])}
          />
          <Pager to={here} at={cursor} next={next} />
        </Section>
        <aside aria-label="About">
          {latest !== null && (
            <Section id="install" title="Deploy">
              <Command text={deployCommand({ kind, slug: id, hubUrl: hub.publicUrl() })} />
              <p className="help">A key for this project comes with a deployment credential: see Keys.</p>
            </Section>
          )}
          <Section id="facts" title="Facts">
            <FactList
              of={{
                Latest: latest === null ? "none" : <span className="num">{latest}</span>,
                Owner: project.owner,
                Created: <Time at={project.created_at} />,
              }}
            />
            <p className="help">Artifacts are sealed by their publisher: the hub cannot look into them.</p>
          </Section>
        </aside>
      </div>
    </TargetLayout>
  );
};
