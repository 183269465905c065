// Holds: every key of an application's files is explained on its page (lib/contract/files/json-schemas.ts)
import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { addressedSchemaComment, installedSchema, SCHEMA_COMMENT } from "../../lib/contract/files/json-schemas.ts";
import packageJson from "../../package.json" with { type: "json" };

interface Schema {
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}

/** Lists the keys of a schema, at every depth. */
const keysOf = ({ properties = {}, additionalProperties: more }: Schema): string[] => [
  ...Object.entries(properties).flatMap(([key, inner]) => [key, ...keysOf(inner)]),
  ...(typeof more === "object" ? keysOf(more) : []),
];

const page = readFileSync("docs/contract/application.md", "utf8");

for (const name of ["app", "applications"] as const)
  t.test(`${name}.yaml`, (t) => {
    const schema = JSON.parse(readFileSync(`docs/schemas/${name}.schema.json`, "utf8")) as Schema;
    const keys = keysOf(schema);
    t.ok(keys.length >= 9, keys.join());
    for (const key of keys) t.match(page, new RegExp(`\`(?:[a-z]+\\.)?${key}\``), key);
    t.end();
  });

t.test("its schema is in the package and at the repository's address", (t) => {
  const repository = packageJson.repository.url.replace(/^git\+|\.git$/g, "");
  const address = addressedSchemaComment("app").split("$schema=")[1]!;
  t.ok(address.startsWith(`${repository}/raw/HEAD/docs/schemas/`), address);
  t.ok(existsSync(address.slice(`${repository}/raw/HEAD/`.length)));
  t.ok(SCHEMA_COMMENT("app").endsWith(`$schema=./${installedSchema("app")}`));
  t.ok(packageJson.files.includes("docs"));
  t.end();
});
