import { listProjectStatements, listTargetStatements } from "../../../contract/statements/routes.ts";
import { listVersions } from "../../../contract/versions/routes.ts";
import { notFound } from "../../../hub/ground/errors.ts";
import { callTo } from "../../page/api.ts";
import { param, queryOf, type Screen } from "../../page/context.ts";
import { named } from "../../page/named-target.ts";
import type { TargetKind } from "../../page/view.ts";
import { StatementsPage } from "./page.tsx";

/** Versions that are offered, those first that were published last. */
const OFFERED = "100";

/** The page of what is said of one version: of the latest one, if the address names none. */
export const statements =
  (kind: TargetKind): Screen =>
  async ({ api, ...context }, request) => {
    const { id, slug, name, latest } = await named({ api, ...context }, request, kind, param(request, "slug"));
    if (id === undefined) throw notFound(`There is no such ${kind}, or none that the key may see.`);
    const listed = await api.ask(request, callTo(listVersions, { params: { id }, query: { limit: OFFERED } }));
    const versions = listed?.items ?? [];
    const label = queryOf(request, "version") || latest || (versions[0]?.version ?? "");
    const view = { kind, slug, name, versions };
    if (label === "") return <StatementsPage {...view} shown={undefined} />;
    const call =
      kind === "project"
        ? callTo(listProjectStatements, { params: { project_id: slug, version: label } })
        : callTo(listTargetStatements[kind], { params: { slug, version: label } });
    return <StatementsPage {...view} shown={await api.call(request, call)} />;
  };
