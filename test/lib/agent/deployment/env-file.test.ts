import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import t from "tap";
import { prepareEnvFile, requireSettings } from "../../../../lib/agent/deployment/env-file.ts";

t.test("write_env", async (t) => {
  const folder = t.testdir({ template: "# Where\nHOST=localhost\nTOKEN=\nNOTE='a b'\n" });
  let count = 0;
  const prepare = (
    required: string[],
    environment: Record<string, string>,
    existing = "none",
    { optional = ["TOKEN", "NOTE"], allowed = [] }: { optional?: string[]; allowed?: string[] } = {},
  ) => {
    const prepared = join(folder, `prepared-${count++}`);
    return prepareEnvFile({
      plugin: "p",
      template: join(folder, "template"),
      existing: join(folder, existing),
      prepared,
      required,
      optional,
      allowed,
      environment,
    }).then(async ({ isNew, missing }) => ({
      missing,
      isNew,
      text: isNew ? await readFile(prepared, "utf8") : "",
      prepared,
    }));
  };

  await t.test(
    "seeds from the template, the process environment wins, comments stay, the file is private",
    async (t) => {
      const { text, prepared } = await prepare(["HOST", "EXTRA"], {
        TOKEN: `it's "x" #1`,
        EXTRA: "more",
        OTHER: "never",
      });
      t.same({ ...parseEnv(text) }, { HOST: "localhost", TOKEN: `it's "x" #1`, NOTE: "a b", EXTRA: "more" });
      t.match(text, /^# Where\n/);
      t.equal((await stat(prepared)).mode & 0o777, 0o600);
    },
  );

  await t.test("a template gets only what the plugin declares and the operator allows", async (t) => {
    const environment = { HOST: "leaked", TOKEN: "leaked", NOTE: "given" };
    const declared = await prepare([], environment, "none", { optional: ["NOTE"] });
    t.same({ ...parseEnv(declared.text) }, { HOST: "localhost", TOKEN: "", NOTE: "given" });
    const allowed = await prepare(["HOST"], environment, "none", { allowed: ["HOST"] });
    t.same({ ...parseEnv(allowed.text) }, { HOST: "leaked", TOKEN: "", NOTE: "a b" });
  });

  await t.test("names every required value that is empty", async (t) => {
    const { missing } = await prepare(["TOKEN", "MISSING", "HOST"], {});
    t.match(missing, { plugin: "p", names: ["TOKEN", "MISSING"], file: join(folder, "none"), mayBeGiven: true });
    t.throws(() => requireSettings([missing!]), { code: "env_missing", message: /TOKEN, MISSING/ });
  });

  await t.test(
    "keeps the host's own file, and takes its values or the environment's for what is required",
    async (t) => {
      await writeFile(join(folder, "own"), "TOKEN=kept\n");
      t.match(await prepare(["TOKEN"], {}, "own"), { isNew: false });
      t.match(await prepare(["HOST"], { HOST: "set" }, "own"), { isNew: false });
      t.match(await prepare(["HOST"], {}, "own"), { missing: { names: ["HOST"] } });
      t.equal(await readFile(join(folder, "own"), "utf8"), "TOKEN=kept\n");
    },
  );

  await t.test("never copies the agent's own secrets, whatever the template asks for", async (t) => {
    await writeFile(join(folder, "template"), "SEALIFT_API_KEY=\n");
    const { text } = await prepare([], { SEALIFT_API_KEY: "slk_secret" });
    t.notMatch(text, /slk_secret/);
    t.match(await prepare(["SEALIFT_API_KEY"], { SEALIFT_API_KEY: "slk_secret" }), {
      missing: { names: ["SEALIFT_API_KEY"] },
    });
  });
});
