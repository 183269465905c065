import * as routes from "../../contract/audit/routes.ts";
import type { MountOptions } from "../access/authentication.ts";
import { serve, type Served } from "../access/serve.ts";
import { pageOf } from "../http/documentation.ts";
import { listAudit } from "../records/audit.ts";
import type { Records } from "../records/port.ts";

const instant = (text: string | undefined) => (text === undefined ? undefined : new Date(text).toISOString());

/** Route of the audit log, for administrators. */
export const auditLog = ({ hub }: MountOptions<Records>): readonly Served[] => [
  serve(routes.listAudit, async (request) => {
    const { since, until, action, actor } = request.query;
    const filters = { since: instant(since), until: instant(until), action, actor };
    return pageOf(request.query, { by: "id" }, (range) => listAudit(hub.database.kysely, filters, range));
  }),
];
