import * as z from "zod";
import { application } from "./application.ts";
import { applicationsFile } from "./applications.ts";
import { descriptor } from "./descriptor.ts";
import { fleetFile } from "./fleet.ts";
import { installPlan, notifiers, provisioners } from "./install-plan.ts";
import { integration } from "./integration.ts";
import { policyFile } from "./policy.ts";

/** Files that people write by hand, with a JSON Schema for editors under `docs/schemas/`. */
const FILES = {
  install: { schema: installPlan, title: "Install plan (install.yaml)" },
  app: { schema: application, title: "Application (app.yaml)" },
  applications: { schema: applicationsFile, title: "Applications of a host (applications.yaml)" },
  plugin: { schema: descriptor, title: "Plugin descriptor (plugin.yaml)" },
  provisioners: { schema: provisioners, title: "Provisioners (provisioners.yaml)" },
  notifiers: { schema: notifiers, title: "Notifiers (notifiers.yaml)" },
  policy: { schema: policyFile, title: "Policy of a host (policy.yaml)" },
  fleet: { schema: fleetFile, title: "Settings of a fleet (fleet.yaml)" },
  integration: { schema: integration, title: "Runtime configuration (integration.yaml)" },
} as const;

export type SchemaName = keyof typeof FILES;

/** Folder of this package with the schemas, and its address for whoever has not installed the package. */
const SCHEMAS = "docs/schemas";
const SCHEMAS_ADDRESS = `https://github.com/sealift/sealift/raw/HEAD/${SCHEMAS}`;

/** Path of a file's schema in a folder whose packages have this one. */
export const installedSchema = (name: SchemaName): string => `node_modules/sealift/${SCHEMAS}/${name}.schema.json`;

/** Returns the comment by which editors find a file's schema where this package is not installed. */
export const addressedSchemaComment = (name: SchemaName): string =>
  `# yaml-language-server: $schema=${SCHEMAS_ADDRESS}/${name}.schema.json`;

/** Returns the comment by which editors' YAML language server finds a file's schema. */
export const SCHEMA_COMMENT = (name: SchemaName | "watch"): string =>
  `# yaml-language-server: $schema=./node_modules/sealift/docs/schemas/${name}.schema.json`;

/** Returns every schema as a document of draft 2020-12, by file name. */
export function jsonSchemas(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(FILES).map(([name, { schema, title }]) => [
      `${name}.schema.json`,
      { title, ...z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) },
    ]),
  );
}
