import { listQuotas } from "../../../contract/quotas/routes.ts";
import type { QuotaRecord } from "../../../contract/surfaces/keys.ts";
import { callTo } from "../../page/api.ts";
import { Bar } from "../../page/bar.tsx";
import type { Screen } from "../../page/context.ts";
import { Layout } from "../../page/layout.tsx";
import { Pager, Size } from "../../page/parts.tsx";
import { quotasPath } from "./paths.ts";

/** Shows how much of each quota is used. */
export const quotas: Screen = async ({ api }, request) => {
  const { items, cursor, next } = await api.page(request, callTo(listQuotas, { query: { limit: "100" } }));
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
      <Pager to={quotasPath} at={cursor} next={next} />
      <p className="help">
        An operator sets quotas on the hub&rsquo;s machine with <code>sealift hub quota set</code>.
      </p>
    </Layout>
  );
};

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
