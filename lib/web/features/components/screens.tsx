import { findComponents, type FoundComponents, type FoundVersion } from "../../../contract/components/routes.ts";
import { parseTarget } from "../../../contract/target.ts";
import { callTo } from "../../page/api.ts";
import { queryOf, type Screen } from "../../page/context.ts";
import { Filter } from "../../page/forms.tsx";
import { Layout } from "../../page/layout.tsx";
import { Empty, Go, KIND_NAMES, Table, withNotes } from "../../page/parts.tsx";
import { pagePaths } from "../../page/view.ts";
import { componentsPath } from "./paths.ts";

/** Most host names in one line. */
const SHOWN_HOSTS = 10;

/** Searches for components, and shows the versions and hosts that have one. */
export const components: Screen = async ({ api }, request) => {
  const q = queryOf(request, "q").trim();
  const found = q === "" ? undefined : await api.call(request, callTo(findComponents, { query: { q } }));
  return (
    <Layout title="Components">
      <h1>Components</h1>
      <p className="lead">Which versions contain a component, and which hosts run them now.</p>
      <Filter className="search" to={componentsPath}>
        <label className="unseen" htmlFor="q">
          Component
        </label>
        <input id="q" name="q" type="search" defaultValue={q} maxLength={500} placeholder="lodash@<4.17.21" />
        <button>Find</button>
      </Filter>
      {found !== undefined && <SearchResult q={q} found={found} />}
      <p className="help">
        A component is a name or a package URL, alone or with a range. It is found in versions that were published with
        an SBOM: <code>sealift project publish --sbom bom.json</code>.
      </p>
    </Layout>
  );
};

function SearchResult({
  q,
  found: { versions, truncated, uncompared, unindexed = [] },
}: {
  q: string;
  found: FoundComponents;
}) {
  return (
    <>
      <Table
        label="Versions"
        empty={<Empty title={`No version with an SBOM contains ${q}.`} />}
        columns={["Target", "Version", "Components", ["Hosts", "num"], "Run by"]}
        rows={versions.map((version) => [
          `${version.target} ${version.version}`,
          <TargetOf key="target" {...version} />,
          <span className="num">{version.version}</span>,
          withNotes("", ...version.components.map(({ name, version: label }) => `${name} ${label}`)),
          version.host_count,
          <Hosts key="hosts" {...version} />,
        ])}
      />
      {unindexed.length > 0 && (
        <p>
          Not indexed yet: {unindexed.map(({ target, name, version }) => `${name} ${version} (${target})`).join(", ")}.
          Look again soon.
        </p>
      )}
      {truncated && <p>More versions contain it: ask for a narrower range.</p>}
      {uncompared.length > 0 && (
        <p>
          The range says nothing of {uncompared.length === 1 ? "one component" : `${uncompared.length} components`}: the
          order of their versions is not known. Ask by a whole version, or by its beginning such as <code>2.14.*</code>.
        </p>
      )}
    </>
  );
}

function TargetOf({ target, name }: FoundVersion) {
  const { kind, slug } = parseTarget(target);
  return (
    <>
      <Go to={pagePaths.fleet(kind, slug)}>{name}</Go> <span className="kind">{KIND_NAMES[kind]}</span>
    </>
  );
}

function Hosts({ target, hosts, host_count: count }: FoundVersion) {
  const { kind, slug } = parseTarget(target);
  return (
    <>
      {hosts.slice(0, SHOWN_HOSTS).map((host) => (
        <p key={host}>
          <Go to={pagePaths.host(kind, slug, host)}>{host}</Go>
        </p>
      ))}
      {count > SHOWN_HOSTS && <p>and {count - SHOWN_HOSTS} more</p>}
    </>
  );
}
