import type { TargetSummary } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { Paged } from "../page/api.ts";
import { Layout } from "../page/layout.tsx";
import { Badge, Empty, Go, Pager, Time } from "../page/parts.tsx";
import { pagePaths, useView, withQuery } from "../page/view.ts";

/** Orders that a person may choose. */
const ORDERS = { name: "By name", newest: "Newest first" } as const;

export interface Catalogue extends Paged<TargetSummary> {
  kind: MarketplaceKind;
  text: string;
  order: keyof typeof ORDERS;
  /** Number of targets on all pages. */
  total?: number | undefined;
}

/** The plugins or services that the key may see, with a search. */
export function CataloguePage({ kind, text, order, cursor, items, next, total = 0 }: Catalogue) {
  const { base } = useView();
  const query = {
    kind: kind === "plugin" ? undefined : kind,
    q: text,
    sort: order === "name" ? undefined : order,
  };
  return (
    <Layout title="Catalogue">
      <div className="title-row">
        <h1>Catalogue</h1>
        <nav className="switch" aria-label="Kinds">
          {(["plugin", "service"] as const).map((each) => (
            <a
              key={each}
              href={base + withQuery(pagePaths.home(), { ...query, kind: each === "plugin" ? undefined : each })}
              aria-current={each === kind ? "page" : undefined}
            >
              {each === "plugin" ? "Plugins" : "Services"}
            </a>
          ))}
        </nav>
      </div>
      <form className="search" role="search" action={`${base}/`}>
        <label className="unseen" htmlFor="q">
          Search {kind}s
        </label>
        <input id="q" name="q" type="search" defaultValue={text} maxLength={200} placeholder={`Search ${kind}s`} />
        {kind === "service" && <input type="hidden" name="kind" value="service" />}
        {order !== "name" && <input type="hidden" name="sort" value={order} />}
        <button>Search</button>
      </form>
      {items.length === 0 ? (
        <Nothing kind={kind} text={text} />
      ) : (
        <>
          <div className="title-row">
            <p className="figure">
              <span className="num">{total}</span> {total === 1 ? kind : `${kind}s`}
            </p>
            <nav className="switch" aria-label="Order">
              {Object.entries(ORDERS).map(([each, title]) => (
                <a
                  key={each}
                  href={base + withQuery(pagePaths.home(), { ...query, sort: each === "name" ? undefined : each })}
                  aria-current={each === order ? "true" : undefined}
                >
                  {title}
                </a>
              ))}
            </nav>
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
}

const Card = ({
  kind,
  slug,
  name,
  description,
  latest_version: latest,
  owner,
  visibility,
  created_at,
}: TargetSummary) => (
  <li className="card">
    <h2>
      <Go to={pagePaths.target(kind, slug)}>{name}</Go>
    </h2>
    <p className="slug">
      {slug} {visibility === "private" && <Badge tone="calm">private</Badge>}
    </p>
    <p className="about">{description ?? <span className="faint">No description yet.</span>}</p>
    <p className="meta">
      <span className="num">{latest === "" ? "no version yet" : latest}</span>
      <span>{owner}</span>
      <span>
        since <Time at={created_at} />
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
