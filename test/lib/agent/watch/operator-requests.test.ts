import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hasRequests, onRequests, requestAction, takeRequests } from "../../../../lib/agent/watch/operator-requests.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("what was asked of a target is taken once, in one order, and nobody else's", async (t) => {
  const layout = layoutOf(join(temporaryFolder(t), "not", "yet"));
  t.same(await takeRequests(layout, "plugin-a"), [], "a root that does not exist holds none");
  t.equal(await hasRequests(layout, "plugin-a"), false);
  await requestAction(layout, "plugin-a", "retry");
  await requestAction(layout, "plugin-a", "pause");
  await requestAction(layout, "plugin-a-b", "check");
  t.equal(await hasRequests(layout, "plugin-a"), true);
  t.same(await takeRequests(layout, "plugin-a"), ["pause", "retry"]);
  t.same(await takeRequests(layout, "plugin-a"), []);
  t.same(await takeRequests(layout, "plugin-a-b"), ["check"]);
});

t.test("of pause and resume the last one counts", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  await requestAction(layout, "plugin-a", "pause");
  await requestAction(layout, "plugin-a", "resume");
  t.same(await takeRequests(layout, "plugin-a"), ["resume"]);
  await requestAction(layout, "plugin-a", "resume");
  await requestAction(layout, "plugin-a", "pause");
  t.same(await takeRequests(layout, "plugin-a"), ["pause"]);
});

t.test("files that ask for nothing that is known stay where they are", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const folder = join(layout.sealift, "requests");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "plugin-a.explode"), "");
  t.same(await takeRequests(layout, "plugin-a"), []);
  t.same(await readdir(folder), ["plugin-a.explode"]);
});

t.test("a request is noticed at once, until nobody listens any more", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const heard: string[] = [];
  let noticed = Promise.withResolvers<void>();
  using _alive = setInterval(() => {}, 1_000);
  const listener = (name: string) => () => {
    heard.push(name);
    noticed.resolve();
  };
  const listening = await onRequests({ layout }, "plugin-a", listener("first"));
  await requestAction(layout, "plugin-a", "check");
  await noticed.promise;
  listening[Symbol.dispose]();
  await takeRequests(layout, "plugin-a");
  // Another listener tells when the first one would have heard it.
  using _other = await onRequests({ layout }, "plugin-a", listener("second"));
  heard.length = 0;
  noticed = Promise.withResolvers<void>();
  await requestAction(layout, "plugin-a", "pause");
  await noticed.promise;
  t.same([...new Set(heard)], ["second"]);
});

t.test("a root that cannot be watched is not an error: each check looks anyway", async (t) => {
  const root = temporaryFolder(t);
  await writeFile(join(root, "file"), "");
  const layout = layoutOf(join(root, "file"));
  using _listening = await onRequests({ layout }, "plugin-a", () => t.fail("nothing can be asked there"));
});
