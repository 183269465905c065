import type { ProjectRecord } from "../../contract/surfaces/keys.ts";
import type { Paged } from "../page/api.ts";
import { Field, Opened, Select } from "../page/forms.tsx";
import { Layout } from "../page/layout.tsx";
import { Empty, Go, Pager, Table, Time } from "../page/parts.tsx";
import { pagePaths } from "../page/view.ts";

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

/** The own projects, plugins and services, and a form for a new one. */
export function ProjectsPage({ items, cursor, next, mayCreate }: Paged<ProjectRecord> & { mayCreate: boolean }) {
  return (
    <Layout title="Projects">
      <h1>Projects</h1>
      {mayCreate && <CreateForm />}
      <Table
        label="Projects"
        empty={
          <Empty title="Nothing of yours yet." command={'sealift project create "My project" --kind project'}>
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
