import t from "tap";
import { createProject, publication, startHub } from "../../../support/hub/harness.ts";
import { startReceiver } from "../../../support/hub/receiver.ts";
import { Visitor } from "../../../support/hub/web.ts";
import { senderOf } from "../../../support/hub/webhooks.ts";

t.test("webhooks are added, tested, enabled, sent again and removed on their pages", async (t) => {
  const receiver = await startReceiver(t);
  const hub = await startHub(t, { webhookAllow: ["127.0.0.0/8"], rateLimits: false });
  const scopes = ["keys", "projects", "publish", "read"];
  const { body: issued } = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "ops", owner: "acme", scopes },
  });
  const { key } = issued as { key: string };
  const acme = { call: (method: string, path: string, options = {}) => hub.call(method, path, { key, ...options }) };
  const project = await createProject(acme, ["publish", "read"]);
  const visitor = await new Visitor(hub.url).signIn(key);
  t.match((await visitor.request("/webhooks")).html, "No webhooks yet.");
  const refused = await visitor.submit("/webhooks", "/webhooks", { url: "http://10.0.0.1/" });
  t.equal(refused.status, 422);
  t.match(refused.html, "The address must begin with https://");

  const url = `${receiver.url}/hook?token=s3cret`;
  const fields = { url, name: "<b>ops</b>", event: "version.published", target: `project:${project.id}` };
  const made = await visitor.submit("/webhooks", "/webhooks", fields);
  t.match(made.html, /whsec_/);
  const page = /\/webhooks\/whk_[\w-]+/.exec(made.html)![0];
  const shown = await visitor.request("/webhooks");
  t.match(shown.html, "&lt;b&gt;ops&lt;/b&gt;");
  t.match(shown.html, "version.published");
  t.notMatch(shown.html, /s3cret|whsec_/);

  t.match((await visitor.submit(page, `${page}/test`)).html, "The message has arrived.");
  t.match(receiver.received[0]!.body, { type: "webhook.test" });
  receiver.answer = (response) => response.writeHead(410).end();
  t.match((await visitor.submit(page, `${page}/test`)).html, "The message has not arrived: the receiver answered 410");
  await project.publish(publication("1.0.0"));
  await receiver.until(3);
  await senderOf(hub.hub).idle();
  const dead = await visitor.request(page);
  t.match(dead.html, "disabled", "a receiver that is gone hears of nothing more");
  const id = /name="delivery" value="([^"]+)"/;
  t.notMatch(dead.html, id, "nothing is sent again before it is enabled");

  receiver.answer = (response) => response.writeHead(204).end();
  t.equal((await visitor.submit(page, `${page}/enable`)).status, 303);
  const delivery = id.exec((await visitor.request(page)).html)![1]!;
  t.equal((await visitor.submit(page, `${page}/redeliver`, { delivery })).headers.get("location"), page);
  await receiver.until(4);
  t.match(receiver.received[3]!.body, { type: "version.published" });

  const [, secret = ""] = /(whsec_[\w+/=]+)/.exec(made.html)!;
  const signatures = (): number => String(receiver.received.at(-1)!.headers["webhook-signature"]).split(" ").length;
  const rotated = await visitor.submit(page, `${page}/rotate`, { hours: "24" });
  t.match(rotated.html, /whsec_/);
  t.notMatch(rotated.html, secret, "it is another one");
  t.notMatch((await visitor.request(page)).html, "whsec_", "it is shown once");
  await visitor.submit(page, `${page}/test`);
  t.equal(signatures(), 2, "for a day, messages are signed with the old one, too");
  await visitor.submit(page, `${page}/rotate`, { hours: "0" });
  await visitor.submit(page, `${page}/test`);
  t.equal(signatures(), 1, "one that has leaked signs no more");
  const wrong = await visitor.submit(page, `${page}/rotate`, { hours: "many" });
  t.equal(wrong.status, 422);
  const forged = await visitor.request(`${page}/rotate`, { method: "POST", body: new URLSearchParams() });
  t.equal(forged.status, 403, "no other site rotates it");

  const other = await new Visitor(hub.url).signIn(hub.adminKey);
  t.notMatch((await other.request("/webhooks")).html, page, "an owner sees their own ones");
  t.equal((await other.request(page)).status, 404);
  t.equal((await visitor.submit(page, `${page}/remove`)).headers.get("location"), "/webhooks");
  t.equal((await visitor.request(page)).status, 404);
  const { body } = await hub.call("GET", "/devkeys/audit");
  const byPage = (body as { items: { action: string; facts: { by?: string } }[] }).items.filter(
    ({ facts }) => facts.by === "web",
  );
  t.strictSame(
    byPage.map(({ action }) => action),
    ["webhook.remove", "webhook.rotate", "webhook.rotate", "webhook.enable", "webhook.add"],
  );
});
