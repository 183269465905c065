import t, { type Test } from "tap";
import { type RunningHub, startHub } from "../../../support/hub/harness.ts";
import { fillShownHub, report } from "../../../support/hub/shown-hub.ts";
import { Visitor } from "../../../support/hub/web.ts";

/** Streams that one key may have. */
const MOST = 50;

async function withKey(t: Test, hub: RunningHub) {
  const { body } = await hub.call("POST", "/devkeys/api-keys", { json: { name: "page", scopes: ["read"] } });
  const { key, id } = body as { key: string; id: string };
  const { cookies: cookie } = await new Visitor(hub.url).signIn(key);
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  // The connection of an answer that nobody holds is closed.
  const held: Response[] = [];
  const open = async (): Promise<Response> => {
    const answer = await fetch(`${hub.url}/live/fleets`, { headers: { cookie }, signal: leaving.signal });
    held.push(answer);
    return answer;
  };
  return { id, open };
}

t.test("an open page's stream ends with its key", async (t) => {
  const hub = await startHub(t);
  await fillShownHub(hub, { hosts: 1 });
  const [reader, other] = [await withKey(t, hub), await withKey(t, hub)];
  const [stream, staying] = [await reader.open(), await other.open()];
  t.equal(stream.status, 200);
  const ended = stream.text();
  await hub.call("DELETE", `/devkeys/api-keys/${reader.id}`);
  const before = performance.now();
  t.match(await ended, /^retry: /);
  t.ok(performance.now() - before < 20_000);
  const { value } = await staying.body!.getReader().read();
  t.match(Buffer.from(value).toString(), /^retry: /, "that of another key stays");
});

t.test("one key cannot take the streams of all pages", async (t) => {
  const hub = await startHub(t);
  await fillShownHub(hub, { hosts: 1 });
  const [greedy, other] = [await withKey(t, hub), await withKey(t, hub)];
  for (let count = 0; count < MOST; count++) t.equal((await greedy.open()).status, 200);
  const refused = await greedy.open();
  t.equal(refused.status, 429);
  t.equal(refused.headers.get("retry-after"), "60");
  t.match(await refused.text(), "Too many pages are open with this key.");
  t.equal((await other.open()).status, 200);
});

t.test("an open page hears of reports, of versions and of hosts that are gone, and of nothing else", async (t) => {
  const hub = await startHub(t);
  await fillShownHub(hub, { hosts: 2 });
  const { cookies: cookie } = await new Visitor(hub.url).signIn(hub.adminKey);
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const answer = await fetch(`${hub.url}/live/plugins/tide-table`, { headers: { cookie }, signal: leaving.signal });
  const reader = answer.body!.getReader();
  const next = async (): Promise<string> => Buffer.from((await reader.read()).value ?? []).toString();
  t.match(await next(), /^retry: /);
  const of = { slug: "tide-table", version: "1.0.0" };
  const at = "/app/deployments/deployments/plugin/tide-table/hosts";
  const deeds = [
    () => report(hub, { ...of, host: "new" }),
    () => hub.call("DELETE", `${at}/new`),
    () => hub.call("POST", "/app/marketplace/plugins/tide-table/versions/1.0.0/yank", { json: {} }),
  ];
  for (const deed of deeds) {
    await deed();
    t.equal(await next(), "event: change\ndata:\n\n");
  }
});

t.test("an open page hears of a report within some seconds", async (t) => {
  const hub = await startHub(t);
  await fillShownHub(hub, { hosts: 1 });
  const leaving = new AbortController();
  const { body, headers } = await fetch(`${hub.url}/live/plugins/tide-table`, {
    headers: { cookie: (await new Visitor(hub.url).signIn(hub.adminKey)).cookies },
    signal: leaving.signal,
  });
  t.match(headers.get("content-type"), "text/event-stream");
  let text = "";
  let host = 0;
  const reporting = setInterval(() => {
    void report(hub, { slug: "tide-table", host: `late-${host++}`, version: "1.2.0" });
  }, 500);
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    if (text.includes("event: change")) break;
  }
  clearInterval(reporting);
  leaving.abort();
  t.match(text, "event: change");
});
