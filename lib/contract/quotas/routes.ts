import { page, pageQuery } from "../paging.ts";
import type { Route } from "../route.ts";
import { quotaRecord } from "../surfaces/keys.ts";

export const listQuotas = {
  method: "GET",
  mount: "devkeys",
  path: "/quotas",
  who: { key: [] },
  otherHosts: "none",
  summary: "What the key's owner or project stores and may store; an administrator gets every quota, too",
  tags: ["key service"],
  query: pageQuery,
  ok: { 200: page(quotaRecord) },
} as const satisfies Route;
