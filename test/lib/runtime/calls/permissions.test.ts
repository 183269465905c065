import t from "tap";
import { isPermitted } from "../../../../lib/runtime/calls/permissions.ts";

t.test("permissions match by kind, name and action; what denies wins", (t) => {
  const rule = (resource: string, actions: string[], effect: "allow" | "deny" = "allow") => ({
    resource,
    actions,
    effect,
  });
  const cases: [
    rules: ReturnType<typeof rule>[],
    target: string,
    action: string,
    sandboxed: boolean,
    trusted: boolean,
  ][] = [
    [[], "cache", "get", false, true],
    [[rule("cache", ["get"])], "cache", "get", true, true],
    [[rule("cache", ["get"])], "cache", "set", false, false],
    [[rule("cache", ["write"])], "cache", "delete", true, true],
    [[rule("database.main", ["read"])], "database:main", "read", true, true],
    [[rule("databases:*", ["*"])], "database:main", "write", true, true],
    [[rule("database:main", ["read"])], "database:mainly", "read", false, false],
    [[rule("plugin:bill*", ["pay"])], "plugin:billing", "pay", true, true],
    [[rule("plugin:a.b", ["call"])], "plugin:a.b", "anything", true, true],
    [[rule("plugin:aXb", ["call"])], "plugin:a.b", "anything", false, false],
    [[rule("*", ["*"]), rule("plugin:secret", ["*"], "deny")], "plugin:secret", "x", false, false],
    [[rule("plugin:secret", ["*"], "deny")], "plugin:open", "x", false, true],
    [[rule("events:order.*", ["publish"])], "events:order.paid", "emit", true, true],
    [[rule("*", ["*"])], "process:1", "kill", false, false],
    [[rule("(.*", ["("])], "cache", "get", false, true],
  ];
  for (const [rules, target, action, sandboxed, trusted] of cases) {
    t.equal(
      isPermitted(rules, "sandboxed", target, action),
      sandboxed,
      `sandboxed: ${JSON.stringify(rules)} ${target} ${action}`,
    );
    t.equal(
      isPermitted(rules, "trusted", target, action),
      trusted,
      `trusted: ${JSON.stringify(rules)} ${target} ${action}`,
    );
  }
  t.end();
});
