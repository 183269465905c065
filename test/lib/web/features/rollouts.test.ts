import t from "tap";
import { startHub } from "../../../support/hub/harness.ts";
import { fillShownHub } from "../../../support/hub/shown-hub.ts";
import { Visitor } from "../../../support/hub/web.ts";

t.test("the pages of rollouts", async (t) => {
  const now = Date.now();
  const hub = await startHub(t, { clock: () => now });
  const { pluginId, reader } = await fillShownHub(hub, { hosts: 8 });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);

  t.test("forms act on a rollout, and the audit log says that a page did it", async (t) => {
    const page = "/plugins/tide-table/rollouts";
    const { body } = await hub.call("GET", `/devkeys/projects/${pluginId}/rollouts`);
    const rollout = (body as { items: { id: string }[] }).items[0]!.id;
    const state = async () =>
      ((await hub.call("GET", `/devkeys/projects/${pluginId}/rollouts/${rollout}`)).body as { state: string }).state;
    for (const [action, becomes] of [
      ["pause", "paused"],
      ["resume", "running"],
      ["approve", "running"],
      ["abort", "aborted"],
    ] as const) {
      const { status, headers } = await admin.submit(page, `${page}/${rollout}/${action}`, { reason: "a test" });
      t.equal(status, 303, action);
      t.equal(headers.get("location"), page);
      t.equal(await state(), becomes);
    }
    const audit = (await hub.call("GET", "/devkeys/audit")).body as {
      items: { action: string; facts: { by?: string }; address: string }[];
    };
    const byPage = audit.items.filter(({ facts }) => facts.by === "web");
    t.strictSame(byPage.map(({ action }) => action).toSorted(), [
      ...["rollout.abort", "rollout.approve", "rollout.pause", "rollout.resume"],
    ]);
    t.equal(byPage[0]!.address, "127.0.0.1");
    t.match(
      (await admin.request(page)).html,
      /stage=canary: <span class="num">1 of 1<.*50%: <span[^>]*>/,
      "its course",
    );
  });

  t.test("a rollout is started and replaced on a page", async (t) => {
    const fields = { name: "Slipway", kind: "plugin", slug: "slipway" };
    await admin.submit("/projects", "/projects", fields);
    const page = "/plugins/slipway/rollouts";
    const rules = { waves: "50%, 100%", soak: "5", max_failing: "1", on_halt: "rollback" };
    const started = await admin.submit(page, page, { version: "1.0.0", ...rules });
    t.equal(started.headers.get("location"), page);
    const { body: projects } = await hub.call("GET", "/devkeys/projects?limit=200");
    const { id } = (projects.items as { id: string; slug: string }[]).find(({ slug }) => slug === "slipway")!;
    const listed = async () =>
      (await hub.call("GET", `/devkeys/projects/${id}/rollouts`)).body.items as { id: string; version: string }[];
    const [first] = await listed();
    t.match(first, {
      version: "1.0.0",
      rules: {
        ...{ waves: ["50%", "100%"], soak_seconds: 300, max_failing: "1", on_halt: "rollback" },
        ...{ approve: false, window: null },
      },
    });
    t.equal((await admin.submit(page, page, { version: "1.1.0", ...rules })).status, 409, "one is under way");
    for (const odd of [{ waves: "50%" }, { soak: "soon" }, { max_failing: "few" }])
      t.equal((await admin.submit(page, page, { version: "1.1.0", ...rules, ...odd })).status, 422);
    const replaced = await admin.submit(page, page, { version: "1.1.0", approve: "yes", replace: first!.id });
    t.equal(replaced.status, 303);
    // The clock stands still: their ids have no order.
    const byVersion = Object.fromEntries((await listed()).map((each) => [each.version, each]));
    t.match(byVersion, { "1.0.0": { state: "replaced" }, "1.1.0": { state: "running", rules: { approve: true } } });
  });

  t.test("a key that may only read sees no forms of rollouts", async (t) => {
    const visitor = await new Visitor(hub.url).signIn(reader);
    const { html } = await visitor.request("/plugins/tide-table/rollouts");
    t.strictSame([...html.matchAll(/<form[^>]*method="post"/g)].length, 1, "but the one that signs it out");
  });
});
