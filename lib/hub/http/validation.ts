import type { FastifySchemaCompiler } from "fastify";
import type * as z from "zod";
import { faultText } from "../../support/documents/fault-words.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { badRequest, type HubError, unprocessable } from "../base/errors.ts";

/** Fields that carry bytes: a malformed one is 400 (docs/contract/deploy.md), every other faulty field is 422. */
const BINARY_FIELDS: ReadonlySet<PropertyKey> = new Set([
  "dek",
  "signature",
  "signer_public_key",
  "artifact_signature",
]);
/** Most faults that a message names; a body can have thousands. */
const SHOWN_FAULTS = 5;

const isMissing = (issue: z.core.$ZodIssue): boolean => issue.code === "invalid_type" && issue.input === undefined;

/** Returns the answer to a faulty input: 422 names the missing or wrong fields, 400 is for malformed binary ones. */
export function faultsAnswer(error: z.ZodError, part = "body"): HubError {
  const faults = error.issues.map((issue) => {
    const name = issue.path.map(String).join(".") || part;
    return isMissing(issue) ? `${name} is missing` : `${name}: ${faultText(issue)}`;
  });
  const shown = faults.slice(0, SHOWN_FAULTS).join("; ");
  const message = `${shown}${faults.length > SHOWN_FAULTS ? `; and ${faults.length - SHOWN_FAULTS} more` : ""}.`;
  const malformed = error.issues.every((issue) => BINARY_FIELDS.has(issue.path[0] ?? "") && !isMissing(issue));
  return malformed ? badRequest(message) : unprocessable(message);
}

/** Rejects a NUL, which PostgreSQL cannot store. Texts below the first level become JSON, which escapes it. */
function unstorable(fields: unknown): HubError | undefined {
  if (typeof fields !== "object" || fields === null) return undefined;
  const found = Object.entries(fields).find(([, text]) => typeof text === "string" && text.includes("\0"));
  return found && unprocessable(`${found[0]}: must not hold the character NUL.`);
}

/** Parses a value. @throws the answer of {@link faultsAnswer} */
export function parseOrRefuse<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = safelyParsed(schema, value, { reportInput: true });
  const refused = parsed.success ? unstorable(parsed.data) : faultsAnswer(parsed.error);
  if (refused !== undefined) throw refused;
  return parsed.data as z.output<T>;
}

/** Compiles the contract's schemas for Fastify. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (value: unknown) => {
    const parsed = safelyParsed(schema, value, { reportInput: true });
    const refused = parsed.success ? unstorable(parsed.data) : faultsAnswer(parsed.error, httpPart);
    return refused === undefined ? { value: parsed.data } : { error: refused };
  };

/** Skips validation: such routes read their own body, and their schema is documentation. */
export const unvalidated: FastifySchemaCompiler<z.ZodType> = () => (value: unknown) => ({ value });
