import { request } from "node:http";
import t from "tap";
import { startDoor } from "../../support/hub/door.ts";
import { startMirror } from "../../support/hub/mirrored.ts";

/** Asks for a path as it is written: fetch would resolve its dots. */
const statusOf = (url: string, path: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { path }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });

t.test("no path has a mirror ask the hub for anything but a download", async (t) => {
  const hub = await startDoor(t);
  const { url } = await startMirror(t, hub.url);
  for (const id of ["..", ".", "%2e%2e", "%2E.", ".%2e", "../x", "%2e%2e/%2e%2e/x", "%2f..", "x/../y", "", "http://x"])
    t.equal(await statusOf(url, `/app/deploy/v1/downloads/${id}?expires=9999999999&signature=ab`), 404, id);
  t.equal(await statusOf(url, `${hub.url}/app/deploy/v1/downloads/x?expires=9999999999&signature=ab`), 404);
  t.strictSame(hub.passages, []);
});
