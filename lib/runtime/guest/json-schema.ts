import * as z from "zod";
import type { JsonSchema, StandardSchema } from "../../sdk/definition.ts";

/**
 * Compiles a JSON Schema. In a module of its own, since most plugins bring schemas that validate by themselves and need
 * no zod here.
 */
export const compileJsonSchema = (schema: JsonSchema): StandardSchema => z.fromJSONSchema(schema);
