import { findComponents } from "../../../contract/components/routes.ts";
import { callTo } from "../../page/api.ts";
import { queryOf, type Screen } from "../../page/context.ts";
import { ComponentsPage } from "./page.tsx";

export const components: Screen = async ({ api }, request) => {
  const q = queryOf(request, "q").trim();
  const found = q === "" ? undefined : await api.call(request, callTo(findComponents, { query: { q } }));
  return <ComponentsPage q={q} found={found} />;
};
