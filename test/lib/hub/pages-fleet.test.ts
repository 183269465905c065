import t from "tap";
import { HELD_RIGHTS } from "../../../lib/contract/surfaces/host-record.ts";
import { startHub } from "../../support/hub/harness.ts";
import { report } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("a fleet shows failing hosts first, and how many there are", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Berth board", kind: "plugin", slug: "berth-board" } });
  const of = { slug: "berth-board", version: "1.0.0" };
  const name = (index: number) => `berth-${String(index).padStart(3, "0")}`;
  const went = { version: "1.1.0", running: "1.0.0" };
  for (let index = 0; index < 210; index++) {
    const fails = index % 7 === 3 && { ...went, status: "rolled_back" as const };
    await report(hub, { ...of, host: name(index), ...fails });
  }
  await report(hub, { ...of, ...went, host: "asks", status: "failed", error: `${HELD_RIGHTS}network: all` });

  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const path = "/plugins/berth-board/fleet";
  const read = async (after: string): Promise<string[]> => {
    const { html } = await admin.request(`${path}?after=${encodeURIComponent(after)}`);
    const next = /after=([^"&]+)"[^>]*>Next page/.exec(html)?.[1];
    const rows = [...html.matchAll(/fleet\/(berth-\d+|asks)"/g)].map(([, host]) => host!);
    return next === undefined ? rows : [...rows, ...(await read(decodeURIComponent(next)))];
  };
  const all = Array.from({ length: 210 }, (_, index) => index);
  const failing = all.filter((index) => index % 7 === 3).map(name);
  const others = all.filter((index) => index % 7 !== 3).map(name);
  t.strictSame(await read(""), [...failing, "asks", ...others], "each once, page by page");
  t.strictSame(await read("none:such"), await read(""), "an odd cursor begins anew");

  const { html } = await admin.request(path);
  t.match(html, /211<\/span> hosts <span class="badge bad">30 failing<.*>1 waiting for consent</);
  t.match(html, "Hosts by version: 181 on 1.0.0, 30 on 1.0.0 (failed)");
  t.match(html, /href="[^"]*state=failed[^"]*">1\.0\.0 \(failed\)</);
  t.match((await admin.request("/fleets")).html, "30 failing");
});
