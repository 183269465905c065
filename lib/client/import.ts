import * as z from "zod";
import { SealiftError } from "../contract/errors.ts";
import { importTargetVersion } from "../contract/import/routes.ts";
import { type ImportRequest, type VersionRecord, versionRecord } from "../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../contract/surfaces/paths.ts";
import { requestOf } from "./ask.ts";
import type { HubConnection } from "./hub-connection.ts";
import { call } from "./json-request.ts";
import { unknownTarget } from "./marketplace-client.ts";

/** Has the hub fetch and sign the archive of `owner/repo@tag`. @throws AuthenticationError, PublishError */
export async function importVersion(
  { kind, slug }: { kind: MarketplaceKind; slug: string },
  asked: ImportRequest,
  hub: HubConnection,
): Promise<VersionRecord> {
  const question = { params: { slug }, body: asked };
  const request = requestOf(importTargetVersion[kind], question, { operation: "marketplace", hub });
  try {
    return await call(request, z.looseObject(versionRecord.shape), hub);
  } catch (error) {
    // The other 409 is a version that exists with other bytes.
    if (!(error instanceof SealiftError) || error.hubCode !== "conflict")
      throw await unknownTarget(error, { kind, slug }, hub);
    const hint = "If you have registered no signing secret, do it with: sealift marketplace signing-key";
    const { message, status, hubCode } = error;
    const facts = { ...(status !== undefined && { status }), hubCode, hint };
    throw new SealiftError(error.kind, "conflict", message, facts);
  }
}
