import * as z from "zod";
import { later } from "../later.ts";
import { bytes, ofKinds, type Route } from "../route.ts";
import type { MarketplaceKind } from "../surfaces/paths.ts";
import { STATEMENT_KINDS, STATEMENT_PART, statementFields, statementRecord, statementsAnswer } from "./statements.ts";

const adding = {
  method: "POST",
  who: { key: ["publish", "stage"] },
  summary: "Add a statement to a published version: provenance, an SBOM, or that it is urgent",
  description: "The signature is demanded where the version has a signer.",
  form: true,
  body: later(() => statementFields.extend({ [STATEMENT_PART.name]: z.file() })),
  ok: {
    200: later(() => statementRecord.describe("The version has this very statement already.")),
    201: statementRecord,
  },
  errors: [409, 413],
} as const;

const listing = {
  method: "GET",
  summary: "The statements of a version",
  ok: { 200: statementsAnswer },
} as const;

const reading = {
  method: "GET",
  summary: "The bytes of a statement, as they were published",
  ok: { 200: bytes("The whole statement."), 206: bytes("The range asked for.") },
  errors: [416],
} as const;

const kind = later(() => z.enum(STATEMENT_KINDS));

const ofProject = { mount: "deploy", tags: ["statements"] } as const;
const projectPath = "/v1/projects/:project_id/artifacts/:version/statements";
const projectReaders = { keyOrSession: ["deploy", "read", "publish", "stage", "projects"] } as const;

export const addProjectStatement = { ...ofProject, ...adding, path: projectPath } as const satisfies Route;

export const listProjectStatements = {
  ...ofProject,
  ...listing,
  path: projectPath,
  who: projectReaders,
  otherHosts: "none",
} as const satisfies Route;

export const readProjectStatement = {
  ...ofProject,
  ...reading,
  path: `${projectPath}/:kind`,
  params: later(() => z.object({ project_id: z.string(), version: z.string(), kind })),
  who: projectReaders,
  otherHosts: "none",
} as const satisfies Route;

const ofTarget = (kind: MarketplaceKind) => ({ mount: `${kind}s`, tags: ["statements"] }) as const;
const targetReaders = { key: ["deploy", "read", "publish", "stage", "projects"] } as const;

export const addTargetStatement = ofKinds((target) => ({
  ...ofTarget(target),
  ...adding,
  path: `/${target}s/:slug/versions/:version/statements`,
}));

export const listTargetStatements = ofKinds((target) => ({
  ...ofTarget(target),
  ...listing,
  path: `/${target}s/:slug/versions/:version/statements`,
  who: targetReaders,
  otherHosts: "none",
}));

export const readTargetStatement = ofKinds((target) => ({
  ...ofTarget(target),
  ...reading,
  path: `/${target}s/:slug/versions/:version/statements/:kind`,
  params: later(() => z.object({ slug: z.string(), version: z.string(), kind })),
  who: targetReaders,
  otherHosts: "none",
}));
