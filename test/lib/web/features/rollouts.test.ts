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

t.test("a refused form comes back as it was sent, with the reason, and never with a secret", async (t) => {
  const hub = await startHub(t);
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  await admin.submit("/projects", "/projects", { name: "Slipway", kind: "plugin", slug: "slipway" });
  const page = "/plugins/slipway/rollouts";
  const rules = { version: "1.1.0", waves: "50%, 100%", soak: "5", max_failing: "few", on_halt: "rollback" };

  const refused = await admin.submit(page, page, { ...rules, approve: "yes", window: '"><b>Mon' });
  t.equal(refused.status, 422);
  t.match(refused.html, /<h1[^>]*>[^<]*Slipway/, "the page of the form, by its own title");
  t.match(refused.html, /<details[^>]* open=""[^>]*>.*<p class="notice bad" role="alert"[^>]*>max_failing: must be/s);
  t.match(
    refused.html,
    /<input[^>]*aria-invalid="true" name="max_failing" value="few"\/><span class="bad-text">must be a/,
  );
  t.match(refused.html, /<input[^>]*name="waves"[^>]*value="50%, 100%"/);
  t.match(refused.html, /name="approve"[^>]*checked=""/);
  t.match(refused.html, /<option value="rollback" selected="">/);
  t.match(refused.html, /name="window"[^>]*value="&quot;&gt;&lt;b&gt;Mon"/, "and is text, whatever it is");
  t.match(refused.html, /name="form_token" value="[^"]{20,}"/, "it can be sent again");

  t.equal((await admin.submit(page, page, { ...rules, max_failing: "1" })).status, 303);
  const second = await admin.submit(page, page, { ...rules, max_failing: "1" });
  t.equal(second.status, 409);
  t.match(
    second.html,
    /role="alert"[^>]*>The rollout rol_\w+ of 1\.1\.0 is running: abort it, or replace it by its id\./,
  );
  t.notMatch(second.html, /--replace|changed meanwhile/);

  const secret = "https://127.0.0.1/hook-secret-token";
  const hook = await admin.submit("/webhooks", "/webhooks", { url: secret, name: "ops", event: "version.yanked" });
  t.equal(hook.status, 422, "the hub sends nothing to this machine");
  t.match(hook.html, /name="name"[^>]*value="ops"/);
  t.match(hook.html, /value="version\.yanked"[^>]*checked=""|checked=""[^>]*value="version\.yanked"/);
  t.notMatch(hook.html, "hook-secret-token");

  const forged = await admin.request(page, {
    method: "POST",
    body: new URLSearchParams({ ...rules, form_token: "no" }),
  });
  t.equal(forged.status, 403);
  t.notMatch(forged.html, /value="few"/, "what another site sends is not filled in");
  const gone = await admin.submit(page, "/plugins/none/rollouts", rules);
  t.equal(gone.status, 404);
  t.match(gone.html, "Not found", "without a page, the reason has one of its own");
});
