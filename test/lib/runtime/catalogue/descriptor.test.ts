import t from "tap";
import { descriptor } from "../../../../lib/contract/files/descriptor.ts";

t.test("a descriptor has the contract's defaults, and its other keys are the plugin's config", (t) => {
  const read = descriptor.parse({
    name: "demo",
    version: "1.0.0",
    requires: ["a", { name: "b", version: "^1" }],
    greeting: "hello",
  });
  t.match(read, {
    entry_point: "src/main.js",
    execution_mode: "sandboxed",
    requires: [
      { name: "a", version: "*" },
      { name: "b", version: "^1" },
    ],
    resources: { timeout_seconds: 10, max_memory_mb: 128, max_disk_mb: 50 },
    runtime: {
      health_check: { enabled: true, interval_seconds: 30, timeout_seconds: 3 },
      retry: { max_attempts: 1, backoff_seconds: 0 },
    },
    filesystem: { allowed_paths: ["data/"], denied_paths: ["src/"] },
    network: false,
    config: { greeting: "hello" },
  });
  t.notOk("greeting" in read);
  const bad = [
    { execution_mode: "x" },
    { entry_point: "../x.js" },
    { entry_point: "/x.js" },
    { resources: { max_memory_mb: -1 } },
    { resources: { unknown: 1 } },
    { permissions: [{ resource: "x", actions: [], effect: "allow" }] },
    { permissions: [{ resource: "x", actions: ["y"], effect: "maybe" }] },
    { env: { "A-B": "x" } },
    { network: "yes" },
    { version: undefined },
    { name: "a/b" },
    { name: "../x" },
  ];
  for (const change of bad)
    t.notOk(descriptor.safeParse({ name: "demo", version: "1", ...change }).success, JSON.stringify(change));
  t.end();
});
