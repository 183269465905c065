import t from "tap";
import { actions, isAlive, sandboxed, startHost } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

const SOURCE = actions(
  `
  who: () => me,
  wait: async () => { await new Promise((done) => setTimeout(done, 300)); return me; },
  crash: () => process.exit(3),
  heard: () => heard,
`,
  `let heard = 0; const me = Math.random();`,
).replace("export default {", "export default { onLoad: (context) => { context.events.on('told', () => heard++); },");

interface Instance {
  pid?: number;
  restarts: number;
  serving: boolean;
}

t.test("a plugin of several instances uses all of them, and loses one at a time", async (t) => {
  const host = await startHost(t, {
    plugins: {
      many: sandboxed("many", SOURCE, { permissions: [{ resource: "events:told", actions: ["listen"] }] }),
      teller: sandboxed("teller", actions(`tell: (_, context) => context.events.emit("told")`), {
        permissions: [{ resource: "events:told", actions: ["emit"] }],
      }),
    },
    configuration: { plugins: { many: { instances: 3 } } },
  });
  const instances = async () => ((await host.status("many")) as { instances: Instance[] }).instances;
  const before = await instances();
  const pids = before.map(({ pid }) => pid!);
  t.equal(new Set(pids).size, 3);
  const all = async (action: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => host.result("many", action) as Promise<number>));

  // Each call waits, so that the next one goes to another process.
  t.equal(new Set(await all("wait", 3)).size, 3, "the least busy one is chosen");
  t.equal(new Set(await all("who", 3)).size, 3, "equals take turns");
  await host.result("teller", "tell");
  const heard = async () => (await all("heard", 3)).reduce((sum, count) => sum + count, 0);
  await until(async () => (await heard()) === 1);

  const busy = Promise.allSettled(Array.from({ length: 6 }, () => host.result("many", "wait")));
  await until(() => host.runtime.catalogue.find("many")?.instance?.inFlight === 6);
  t.match(await host.call("many", "crash"), { status: 500, body: { code: "plugin_crashed" } });
  const lost = (await busy).filter(({ status }) => status === "rejected").length;
  t.equal(lost, 2, "the calls of one instance");
  await until(async () => (await instances()).every(({ serving }) => serving));
  const after = await instances();
  t.equal(after.filter(({ pid }) => pids.includes(pid!)).length, 2, "the others went on");
  t.same(after.map(({ restarts }) => restarts).toSorted(), [0, 0, 1]);
  t.equal(await host.counter('sealift_plugin_restarts_total{plugin="many"}'), 1);
  const { body } = await host.system("GET", "/plugin/ipc/metrics");
  const { gauges } = body as { gauges: Record<string, number> };
  for (const index of [0, 1, 2])
    t.equal(gauges[`sealift_plugin_instance_up{plugin="many",instance="${index}"}`], 1, `instance ${index}`);

  let reloaded = false;
  const reloading = host.reload("many").then((answer) => {
    reloaded = true;
    return answer;
  });
  const answers: number[] = [];
  while (!reloaded) answers.push((await host.call("many", "who")).status);
  t.match(await reloading, { status: 200 });
  t.ok(
    answers.every((status) => status === 200),
    "a reload fails no call",
  );
  const fresh = (await instances()).map(({ pid }) => pid!);
  t.notOk(fresh.some((pid) => after.some((old) => old.pid === pid)));
  await host.unload("many");
  await until(() => ![...pids, ...fresh].some(isAlive));
});

t.test("a number of instances that is none is a fault of the configuration", async (t) => {
  for (const instances of [0, 65, 1.5, "many"])
    await t.rejects(
      startHost(t, { configuration: { plugins: { many: { instances } } } }),
      { code: "config_invalid", message: /plugins\.many\.instances/ },
      String(instances),
    );
});
