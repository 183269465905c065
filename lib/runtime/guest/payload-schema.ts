import type { PayloadSchema, StandardIssue, StandardSchema } from "../../sdk/definition.ts";
import { RuntimeFault } from "./fault.ts";

/** Returns the payload as the schema made it, or throws `payload_invalid` with every fault. */
export type PayloadCheck = (payload: unknown) => unknown;

const isStandard = (schema: PayloadSchema): schema is StandardSchema => "~standard" in schema;

const describe = (issue: StandardIssue): string => {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
};

function standardCheck(schema: StandardSchema): PayloadCheck {
  const settle = (result: Awaited<ReturnType<StandardSchema["~standard"]["validate"]>>): unknown => {
    if (result.issues === undefined) return result.value;
    const faults = result.issues.map(describe);
    throw new RuntimeFault("payload_invalid", `The payload does not fit the schema: ${faults.join("; ")}`);
  };
  return (payload) => {
    const result = schema["~standard"].validate(payload);
    return result instanceof Promise ? result.then(settle) : settle(result);
  };
}

/** The part of Standard JSON Schema that zod and others have besides Standard Schema. */
interface Convertible {
  jsonSchema?: { input: (options: { target: "draft-2020-12" }) => Record<string, unknown> };
}

/** Returns a schema as JSON Schema, or undefined for one that cannot say itself in it. */
export function jsonSchemaOf(schema: PayloadSchema): Record<string, unknown> | undefined {
  if (!isStandard(schema)) return schema;
  try {
    return (schema["~standard"] as Convertible).jsonSchema?.input({ target: "draft-2020-12" });
  } catch {
    return undefined;
  }
}

/**
 * The check of an action's schema. A JSON Schema runs through zod, on the plugin's side: its patterns are the plugin's,
 * and could block the process that runs them.
 */
export async function payloadCheck(schema: PayloadSchema): Promise<PayloadCheck> {
  if (isStandard(schema)) return standardCheck(schema);
  const { compileJsonSchema } = await import("./json-schema.ts");
  return standardCheck(compileJsonSchema(schema));
}
