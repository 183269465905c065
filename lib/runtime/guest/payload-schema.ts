import type { PayloadSchema, StandardIssue, StandardSchema } from "../../sdk/definition.ts";
import { RuntimeFault } from "./fault.ts";

/** Returns a value as its schema made it, or throws with every fault. */
export type SchemaCheck = (value: unknown) => unknown;

/** Makes the error for a value that does not fit. @param faults each with its path, on one line */
type Refusal = (faults: string) => RuntimeFault;

const payloadRefusal: Refusal = (faults) =>
  new RuntimeFault("payload_invalid", `The payload does not fit the schema: ${faults}`);

const isStandard = (schema: PayloadSchema): schema is StandardSchema => "~standard" in schema;

const describe = (issue: StandardIssue): string => {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
};

function standardCheck(schema: StandardSchema, refusal: Refusal): SchemaCheck {
  const settle = (result: Awaited<ReturnType<StandardSchema["~standard"]["validate"]>>): unknown => {
    if (result.issues === undefined) return result.value;
    throw refusal(result.issues.map(describe).join("; "));
  };
  return (value) => {
    const result = schema["~standard"].validate(value);
    return result instanceof Promise ? result.then(settle) : settle(result);
  };
}

/** Part of Standard JSON Schema that zod and others have in addition to Standard Schema. */
interface Convertible {
  jsonSchema?: { input: (options: { target: "draft-2020-12" }) => Record<string, unknown> };
}

/** Returns a schema as JSON Schema, or undefined if it cannot be expressed so. */
export function jsonSchemaOf(schema: PayloadSchema): Record<string, unknown> | undefined {
  if (!isStandard(schema)) return schema;
  try {
    return (schema["~standard"] as Convertible).jsonSchema?.input({ target: "draft-2020-12" });
  } catch {
    return undefined;
  }
}

/**
 * Returns the check of a plugin's schema. A JSON Schema runs through zod, in the plugin's process: its patterns are the
 * plugin's, and could block the process that runs them.
 *
 * @param refusal of a value that does not fit; by default that of a payload
 */
export async function schemaCheck(schema: PayloadSchema, refusal = payloadRefusal): Promise<SchemaCheck> {
  if (isStandard(schema)) return standardCheck(schema, refusal);
  const { compileJsonSchema } = await import("./json-schema.ts");
  return standardCheck(compileJsonSchema(schema), refusal);
}
