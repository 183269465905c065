import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { copyWebExample } from "../../scripts/quickstart/web-packages.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("examples/web becomes an application that works, packages and all", async (t) => {
  const folder = temporaryFolder(t);
  const temporary = temporaryFolder(t);
  await chmod(temporary, 0o755);
  copyWebExample(folder);
  const env = { TMPDIR: temporary };
  const made = await commandLine(["app", "init", "--project-id", "prj_0123456789abcdef"], { cwd: folder, env });
  t.equal(made.code, 0, made.stderr);
  t.match(made.stdout, "sealift systemd install app web --listen http=3000");
  const file = join(folder, "app.yaml");
  const text = await readFile(file, "utf8");
  t.match(text, /^command: \[ node, server\.js \]$/m);
  t.match(text, /^listen: \[ http \]$/m);
  t.match(text, /^health: \{ http: \/healthz, /m);
  t.match(text, /^environment: \{ optional: \[ GREETING \] \}$/m);
  await writeFile(file, text.replace("stays_up: 10s", "stays_up: 1s"));
  const tried = await commandLine(["app", "test"], { cwd: folder, env });
  t.equal(tried.code, 0, tried.stdout + tried.stderr);
  t.match(tried.stdout, /^answered +GET http:\/\/127\.0\.0\.1:\d+\/healthz/m);
  t.match(tried.stdout, /^stopped/m);
});
