import { later } from "../later.ts";
import { archiveExists } from "../marketplace/routes.ts";
import { ofKinds } from "../route.ts";
import { importRequest, versionRecord } from "../surfaces/marketplace.ts";

export const importTargetVersion = ofKinds((kind) => ({
  mount: `${kind}s`,
  tags: [`${kind}s`],
  method: "POST",
  path: `/${kind}s/:slug/import`,
  who: { key: ["publish"] },
  summary: `Publish a version of a ${kind} from its source host, signed with the registered secret`,
  body: importRequest,
  ok: { 200: later(() => versionRecord.describe("The very same archive is published already.")), 201: versionRecord },
  errors: [413, 502],
  faults: { 409: archiveExists },
}));
