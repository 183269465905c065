import { listTargets } from "../../contract/marketplace/routes.ts";
import type { TargetSummary } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { callTo } from "../page/api.ts";
import { queryOf, type Screen } from "../page/context.ts";
import { Filter } from "../page/forms.tsx";
import { Layout } from "../page/layout.tsx";
import { Badge, Empty, Go, Pager, Time } from "../page/parts.tsx";
import { pagePaths, useView, withQuery } from "../page/view.ts";

const CARDS = "30";

/** Kinds that a person may choose; the first one is the default. The next constant has the orders. */
const KINDS = { plugin: "Plugins", service: "Services" } as const;
const ORDERS = { name: "By name", newest: "Newest first" } as const;

/** Lists the plugins or services that the key may see, with a search. */
export const catalogue: Screen = async ({ api }, request) => {
  const kind = queryOf(request, "kind") === "service" ? "service" : "plugin";
  const text = queryOf(request, "q").slice(0, 200);
  const order = queryOf(request, "sort") === "newest" ? "newest" : "name";
  const cursor = queryOf(request, "cursor");
  const asked = { q: text, sort: order, count: "true", limit: CARDS, cursor };
  const { items, next, total = 0 } = await api.call(request, callTo(listTargets[kind], { query: asked }));
  const query = {
    kind: kind === "plugin" ? undefined : kind,
    q: text,
    sort: order === "name" ? undefined : order,
  };
  return (
    <Layout title="Catalogue">
      <div className="title-row">
        <h1>Catalogue</h1>
        <Switch label="Kinds" name="kind" query={query} value={kind} of={KINDS} current="page" />
      </div>
      <Filter className="search" to={pagePaths.home()}>
        <label className="unseen" htmlFor="q">
          Search {kind}s
        </label>
        <input id="q" name="q" type="search" defaultValue={text} maxLength={200} placeholder={`Search ${kind}s`} />
        {kind === "service" && <input type="hidden" name="kind" value="service" />}
        {order !== "name" && <input type="hidden" name="sort" value={order} />}
        <button>Search</button>
      </Filter>
      {items.length === 0 ? (
        <Nothing kind={kind} text={text} />
      ) : (
        <>
          <div className="title-row">
            <p className="figure">
              <span className="num">{total}</span> {total === 1 ? kind : `${kind}s`}
            </p>
            <Switch label="Order" name="sort" query={query} value={order} of={ORDERS} current="true" />
          </div>
          <ul className="cards">
            {items.map((item) => (
              <Card key={item.id} {...item} />
            ))}
          </ul>
        </>
      )}
      <Pager to={pagePaths.home()} query={query} at={cursor} next={next} />
    </Layout>
  );
};

interface Choice {
  label: string;
  /** Name of the choice in the address; `query` has the address's other parts. */
  name: string;
  query: Record<string, string | undefined>;
  value: string;
  /** Titles by values. */
  of: Readonly<Record<string, string>>;
  current: "page" | "true";
}

/** Shows the values of a choice, each as a link to the catalogue. */
function Switch({ label, name, query, value, of, current }: Choice) {
  const { base } = useView();
  return (
    <nav className="switch" aria-label={label}>
      {Object.entries(of).map(([each, title], index) => (
        <a
          key={each}
          href={base + withQuery(pagePaths.home(), { ...query, [name]: index === 0 ? undefined : each })}
          aria-current={each === value ? current : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

const Card = ({ kind, slug, name, latest_version: latest, ...target }: TargetSummary) => (
  <li className="card">
    <h2>
      <Go to={pagePaths.target(kind, slug)}>{name}</Go>
    </h2>
    <p className="slug">
      {slug} {target.visibility === "private" && <Badge tone="calm">private</Badge>}
    </p>
    <p className="about">{target.description ?? <span className="faint">No description yet.</span>}</p>
    <p className="meta">
      <span className="num">{latest === "" ? "no version yet" : latest}</span>
      <span>{target.owner}</span>
      <span>
        since <Time at={target.created_at} />
      </span>
    </p>
  </li>
);

function Nothing({ kind, text }: { kind: MarketplaceKind; text: string }) {
  if (text !== "")
    return (
      <Empty title={`No ${kind} matches ${JSON.stringify(text)}.`}>Names, slugs and descriptions are searched.</Empty>
    );
  return (
    <Empty title={`No ${kind} yet.`} command={`sealift project create "My ${kind}" --kind ${kind} --slug my-${kind}`}>
      Create one, and publish its first version:
    </Empty>
  );
}
