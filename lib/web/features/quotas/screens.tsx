import { listQuotas } from "../../../contract/quotas/routes.ts";
import { callTo } from "../../page/api.ts";
import type { Screen } from "../../page/context.ts";
import { QuotasPage } from "./page.tsx";

export const quotas: Screen = async ({ api }, request) => (
  <QuotasPage {...await api.page(request, callTo(listQuotas, { query: { limit: "100" } }))} />
);
