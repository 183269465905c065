import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { Visitor } from "../../support/hub/web.ts";

const MARK = "poison.example";

/** As `fetch`, which sets the Host itself. */
function get(url: string, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, resolve).on("error", reject).end();
  });
}

t.test("what a request says of host and path is on no page that others could be given", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const { cookies } = await new Visitor(hub.url).signIn(hub.adminKey);
  const poison = {
    host: MARK,
    ...{ "x-forwarded-host": MARK, "x-forwarded-proto": "https", "x-forwarded-prefix": `/${MARK}`, forwarded: MARK },
    ...{ "x-original-url": `/${MARK}`, "x-rewrite-url": `/${MARK}`, referer: `https://${MARK}/` },
  };
  for (const path of ["/", "/sign-in", "/plugins/tide", "/keys", "/hub"])
    for (const cookie of [cookies, ""]) {
      const answer = await get(hub.url + path, { ...poison, ...(cookie !== "" && { cookie }) });
      const body = await text(answer);
      t.notMatch(body, MARK, path);
      t.notMatch(JSON.stringify(answer.headers), MARK, path);
      t.equal(answer.headers["cache-control"], "private, no-store");
    }
  const { html } = await new Visitor(hub.url).request("/sign-in");
  const [, script] = /src="(\/assets\/[^"]+)"/.exec(html)!;
  const plain = await get(hub.url + script!, {});
  const poisoned = await get(`${hub.url}${script}?callback=${MARK}`, { ...poison, cookie: cookies });
  t.equal(await text(poisoned), await text(plain), "the script is the same for everybody");
  t.equal(poisoned.headers["set-cookie"], undefined);
});

t.test("a session's page is not to be had under a name that caches keep", async (t) => {
  const hub = await startHub(t);
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  for (const path of ["/keys/x.css", "/keys;x.css", "/keys%2Fx.css", "/assets/..%2Fkeys", "/hub.js"]) {
    const { headers, html } = await admin.request(path);
    t.notMatch(headers.get("cache-control"), /public|max-age/, path);
    t.notMatch(html, "slk_", path);
  }
});
