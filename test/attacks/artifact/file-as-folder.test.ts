import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a name that is a file and a folder at once is refused", async (t) => {
  const host = await attackedHost(t);
  const refusal = { code: "member_duplicate" } as const;
  const file = "./plugins/demo/plugin.yaml";
  await t.test("a file below a file", (t) =>
    host.refusesProject(t, { extra: [{ name: `${file}/inside`, content: "x" }] }, refusal),
  );
  await t.test("a folder with a file's name", (t) =>
    host.refusesProject(t, { extra: [{ name: `${file}/`, type: "5" }] }, refusal),
  );
  await t.test("a file with a folder's name", (t) =>
    host.refusesProject(t, { extra: [{ name: "./plugins/demo", content: "x" }] }, refusal),
  );
  await t.test("a file whose name ends with a slash", (t) =>
    host.refusesProject(
      t,
      { extra: [{ name: "./plugins/demo/both/", type: "0", content: "x" }] },
      { code: "member_unsafe" },
    ),
  );
  await t.test("the root as a file", (t) =>
    host.refusesProject(t, { before: [{ name: ".", type: "0", content: "x" }] }, { code: "member_unsafe" }),
  );
});
