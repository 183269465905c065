/** `npm test` runs each test file once: by itself, or with others in one process (test/batches). */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import t from "tap";
import { parse } from "yaml";

const cwd = fileURLToPath(new URL("../../", import.meta.url));

t.test("every test file is run, and none twice", async (t) => {
  const { include } = parse(readFileSync(`${cwd}.taprc`, "utf8")) as { include: string[] };
  const shared = globSync("test/batches/*.test.ts", { cwd }).flatMap((file) => {
    const [, pattern] = /^together\("(.+)"\);$/m.exec(readFileSync(`${cwd}${file}`, "utf8"))!;
    return globSync(pattern!, { cwd });
  });
  const run = [...globSync(include, { cwd }), ...shared].toSorted();
  t.same(run, globSync("test/**/*.test.{ts,tsx}", { cwd }).toSorted());
});
