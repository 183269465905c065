import * as z from "zod";
import { descriptor } from "./descriptor.ts";
import { installPlan, notifiers, provisioners } from "./install-plan.ts";
import { integration } from "./integration.ts";
import { policyFile } from "./policy.ts";

/** The files that people write by hand, for which editors get a JSON Schema under `docs/schemas/`. */
const FILES = {
  install: { schema: installPlan, title: "Install plan (install.yaml)" },
  plugin: { schema: descriptor, title: "Plugin descriptor (plugin.yaml)" },
  provisioners: { schema: provisioners, title: "Provisioners (provisioners.yaml)" },
  notifiers: { schema: notifiers, title: "Notifiers (notifiers.yaml)" },
  policy: { schema: policyFile, title: "Policy of a host (policy.yaml)" },
  integration: { schema: integration, title: "Runtime configuration (integration.yaml)" },
} as const;

export type SchemaName = keyof typeof FILES;

/** The comment that the YAML language server of editors finds a file's schema by. */
export const SCHEMA_COMMENT = (name: SchemaName | "watch"): string =>
  `# yaml-language-server: $schema=./node_modules/sealift/docs/schemas/${name}.schema.json`;

/** Every schema as a document of draft 2020-12, by file name. */
export function jsonSchemas(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(FILES).map(([name, { schema, title }]) => [
      `${name}.schema.json`,
      { title, ...z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) },
    ]),
  );
}
