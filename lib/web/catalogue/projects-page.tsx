import type { ProjectRecord } from "../../contract/surfaces/keys.ts";
import type { Paged } from "../page/api.ts";
import { Layout } from "../page/layout.tsx";
import { Empty, Go, Pager, Table, Time } from "../page/parts.tsx";
import { pagePaths } from "../page/view.ts";

/** The own projects, plugins and services. */
export function ProjectsPage({ items, cursor, next }: Paged<ProjectRecord>) {
  return (
    <Layout title="Projects">
      <h1>Projects</h1>
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
