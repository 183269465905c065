// Holds: whether an application has run with settings (lib/fleet/tried.ts)
import t from "tap";
import { changesBetween } from "../../../lib/fleet/digests.ts";
import { untriedFor } from "../../../lib/fleet/tried.ts";

const WEB = { web: { A: "one", B: "two" } };
const BOTH = { ...WEB, api: { A: "one" } };
const unused = (...names: string[]) =>
  names.map((name) => ({ name, code: `of_${name.replaceAll(/\W/g, "_").toLowerCase()}` }));

t.test("settings are untried where each application lacks them whole, for its last reason", (t) => {
  const code = (apps: object, names: string[], state: "applied" | "failed" = "applied") =>
    untriedFor(apps as typeof WEB, { state, ignored: unused(...names) });
  t.equal(code(WEB, []), undefined);
  t.equal(code(WEB, ["web"]), "of_web");
  t.equal(code(WEB, ["web.A", "web.B"]), "of_web_b");
  t.equal(code(WEB, ["web.A"]), undefined, "it runs with the other one");
  t.equal(code(WEB, ["web"], "failed"), undefined, "what failed was tried");
  t.equal(code(BOTH, ["web"]), undefined, "another application runs");
  t.equal(code(BOTH, ["api", "web"]), "of_web");
  t.equal(code({}, ["web"]), undefined);
  t.equal(untriedFor({}, { state: "applied", ignored: [{ name: "web", code: "app_stopped" }] }), "app_stopped");
  t.end();
});

t.test("what differs between two contents is named, and the value of a command that was not run counts", (t) => {
  const before = { web: { A: "1", B: "2", C: "3" } };
  const after = { web: { A: "1", B: "4", D: "5" }, api: { A: undefined } };
  t.strictSame(changesBetween(before, after), { added: ["api.A", "web.D"], changed: ["web.B"], removed: ["web.C"] });
  t.strictSame(changesBetween(before, { web: { ...before.web, A: undefined } }).changed, ["web.A"]);
  t.strictSame(changesBetween(before, before), { added: [], changed: [], removed: [] });
  t.end();
});
