import { optionsByName } from "./all.ts";
import { type Option, yamlKeyOf } from "./option.ts";
import { MAX_TARGETS, TARGET_PATTERN, watchKeys } from "./watch-file.ts";

/** JSON Schemas of the files that hold options, for editors. */

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const FILE = { type: "string", minLength: 1 };

const schemaOf = (option: Option): object => ({ description: option.help, ...option.schema });

function sealiftSchema(): object {
  const properties: Record<string, object> = {};
  for (const [name, options] of [...optionsByName()].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (name === "config") continue;
    // Commands may share a name for options with different values.
    const different = [...new Map(options.map((option) => [JSON.stringify(option.schema), option])).values()];
    const [first] = different;
    properties[yamlKeyOf(name)] =
      different.length === 1
        ? schemaOf(first!)
        : { description: first!.help, anyOf: different.map(({ schema }) => schema) };
    if (first!.fromBytes !== undefined)
      properties[yamlKeyOf(`${name}-file`)] = { description: `File with ${name}`, ...FILE };
  }
  return { title: "Options (sealift.yaml)", $schema: DIALECT, type: "object", properties, additionalProperties: false };
}

function watchSchema(): object {
  const shared = Object.fromEntries(
    [...watchKeys()].map(([key, option]) => [
      key,
      option.fromBytes === undefined ? schemaOf(option) : { description: `File: ${option.help}`, ...FILE },
    ]),
  );
  const entry = {
    type: "object",
    properties: { target: { type: "string", pattern: TARGET_PATTERN }, ...shared },
    required: ["target"],
    additionalProperties: false,
  };
  return {
    title: "Watched targets (watch.yaml)",
    $schema: DIALECT,
    type: "object",
    properties: { ...shared, targets: { type: "array", minItems: 1, maxItems: MAX_TARGETS, items: entry } },
    required: ["targets"],
    additionalProperties: false,
  };
}

/** Returns both schemas by file name. */
export const optionSchemas = (): Record<string, object> => ({
  "sealift.schema.json": sealiftSchema(),
  "watch.schema.json": watchSchema(),
});
