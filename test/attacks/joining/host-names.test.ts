import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { invited } from "../../support/hub/joining.ts";

/** Names that lead elsewhere, or that look like another one's. */

t.test("names that are not host ids are refused, and use nothing up", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join, list } = await invited(hub);
  const { token } = await invite();
  const names = [
    "",
    ".",
    "..",
    "a b",
    "a\nb",
    "a\u0000",
    "\u202egnp.exe",
    "zero\u200bwidth",
    "x".repeat(256),
    "\ud800",
  ];
  for (const name of names) isErrorBody(t, await join(token, name), 422, "unprocessable");
  t.strictSame(await list(), []);
  t.match((await hub.call("GET", `${at}/host-invites`)).body.items, [{ used: 0 }]);
});

t.test("names that look like paths and statements stay names", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join, list } = await invited(hub);
  const { token } = await invite({ uses: 10 });
  const names = ["../../etc/passwd", "a/b", "'; drop table joined_hosts; --", "%2e%2e"].map((name) =>
    name.replaceAll(" ", "_"),
  );
  for (const name of names) t.equal((await join(token, name)).status, 200, name);
  t.strictSame((await list()).map(({ host_id: host }) => host).sort(), names.toSorted());
  for (const name of names)
    t.equal((await hub.call("DELETE", `${at}/joined-hosts/${encodeURIComponent(name)}`)).status, 204, name);
});
