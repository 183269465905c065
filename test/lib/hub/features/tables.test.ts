import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { FEATURES } from "../../../../lib/hub/features.ts";

t.test("no statement outside of a feature names a table of it", async (t) => {
  const files = (await readdir("lib/hub", { recursive: true })).filter((file) => file.endsWith(".ts"));
  let tables = 0;
  for (const { name, tables: own = [] } of FEATURES)
    for (const table of own) {
      tables++;
      const statement = new RegExp(`\\b(from|join|into|update|table)[\\s("'\`]+${table.name}\\b`, "i");
      const naming = [];
      for (const file of files) if (statement.test(await readFile(join("lib/hub", file), "utf8"))) naming.push(file);
      t.ok(naming.length > 0, `${table.name} is used`);
      for (const file of naming) t.ok(file.startsWith(`features/${name}/`), `${file} names ${table.name}`);
    }
  t.ok(tables > 0);
});
