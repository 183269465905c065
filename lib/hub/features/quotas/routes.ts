import * as routes from "../../../contract/quotas/routes.ts";
import type { QuotaRecord } from "../../../contract/surfaces/keys.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { serve, type Served } from "../../access/serve.ts";
import { isAdministrator } from "../../base/principal.ts";
import { pageOf } from "../../http/documentation.ts";
import type { Records } from "../../records/port.ts";
import { type StorageHolder, usageOf } from "../../records/usage.ts";
import { listQuotas } from "./records.ts";

/** Route that lists quotas with their usage. Quotas are set on the hub's machine only. */
export const quotas = ({ hub }: MountOptions<Records>): readonly Served[] => [
  serve(routes.listQuotas, async (request, principal) => {
    const db = hub.database.kysely;
    const { owner, projectId } = principal;
    const own: StorageHolder = projectId === null ? `owner/${owner}` : `project/${projectId}`;
    const limits = new Map((await listQuotas(db)).map((quota) => [quota.subject, quota]));
    const subjects = isAdministrator(principal) ? new Set([own, ...limits.keys()]) : new Set([own]);
    return pageOf(request.query, { by: "subject" }, async ({ after, limit }) => {
      const shown: QuotaRecord[] = [];
      // One at a time: each sums up everything that its subject stores.
      for (const subject of [...subjects]
        .filter((each) => each > after)
        .toSorted()
        .slice(0, limit)) {
        const { max_bytes = null, max_versions = null } = limits.get(subject) ?? {};
        shown.push({ subject, max_bytes, max_versions, usage: await usageOf(db, subject) });
      }
      return shown;
    });
  }),
];
