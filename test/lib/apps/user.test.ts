// Holds: as which user a grant has an application run (lib/apps/user.ts)
import { userInfo } from "node:os";
import t from "tap";
import { userOf } from "../../../lib/apps/user.ts";
import { applicationsFile } from "../../../lib/contract/files/applications.ts";

const isRoot = process.getuid?.() === 0;
const grant = (keys: object) =>
  applicationsFile.parse({ supervisor: "serve", applications: { web: keys } }).applications["web"]!;

t.test("a grant with a user and the same user serves root and everybody else", async (t) => {
  const { name, ids } = await userOf("web", grant({ user: "nobody", same_user: true }));
  if (isRoot) t.match({ name, ids }, { name: "nobody", ids: { uid: Number } });
  else t.strictSame({ name, ids }, { name: userInfo().username, ids: undefined });
});

t.test("neither of them alone does", async (t) => {
  await t.rejects(userOf("web", grant(isRoot ? { same_user: true } : { user: "nobody" })), { code: "not_granted" });
  await t.rejects(userOf("web", grant({ user: "root" })), { code: "not_granted" });
});
