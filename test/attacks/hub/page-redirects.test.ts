import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { Visitor } from "../../support/hub/web.ts";

const ELSEWHERE = [
  ...["https://evil.example/", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil"],
  ...["/%09/evil.example\n", "javascript:alert(1)", "data:text/html,x", "https:evil.example", "/.//evil.example"],
  ...["/x/..//evil.example", "http://hub.invalid/keys", " //evil.example", "/\r\nset-cookie: a=b", "", "keys"],
];

t.test("signing in leads to a path of the hub, whatever the link says", async (t) => {
  const hub = await startHub(t);
  const leads = async (next: string): Promise<string | null> => {
    const visitor = new Visitor(hub.url);
    const page = `/sign-in?next=${encodeURIComponent(next)}`;
    const { headers } = await visitor.submit(page, "/sign-in", { key: hub.adminKey, next });
    return headers.get("location");
  };
  for (const next of ELSEWHERE) {
    const location = (await leads(next)) ?? "";
    t.equal(new URL(location, hub.url).origin, hub.url, `${JSON.stringify(next)} leads to ${location}`);
    t.notMatch(location, /^\/\/|^\/\\|evil\.example$/);
  }
  t.equal(await leads("/plugins/a?cursor=b&c=//d"), "/plugins/a?cursor=b&c=//d");
  const { headers } = await new Visitor(hub.url).request("//evil.example/..//x");
  t.notMatch(headers.get("location") ?? "", "//evil.example");
});
