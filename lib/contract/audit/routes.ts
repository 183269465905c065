import * as z from "zod";
import { timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import type { Route } from "../route.ts";
import { auditRecord } from "../surfaces/keys.ts";

export const listAudit = {
  method: "GET",
  mount: "devkeys",
  path: "/audit",
  who: { administrator: true, refusal: "Only an administrator reads the audit log." },
  summary: "Who did what to which key, project, version, grant and secret, newest first",
  tags: ["key service"],
  query: later(() =>
    pageQuery.extend({
      since: timestamp.optional(),
      until: timestamp.optional(),
      action: z.string().max(64).optional(),
      actor: z.string().max(255).optional(),
    }),
  ),
  ok: { 200: page(auditRecord) },
} as const satisfies Route;
