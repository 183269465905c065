// Holds: how hosts follow a trust root (lib/agent/sources/trust-root.ts)
import { join } from "node:path";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { followRoot } from "../../../../lib/agent/sources/trust-root.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readFollowedRoot } from "../../../../lib/releases/trust-roots.ts";
import { heldKey, rootChain } from "../../../support/forged/roots.ts";
import { rootFile } from "../../../support/host/root-host.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const TARGET = "project-prj_0123456789abcdef";
const LAST = 5;

/** A root of five versions, and a host that has the first one. */
async function following(t: Test) {
  const folder = temporaryFolder(t);
  const layout = layoutOf(join(folder, "host"));
  const chain = rootChain();
  const documents = Array.from({ length: LAST }, (_, index) => chain.version(index + 1, [heldKey()]));
  const files = await Promise.all(documents.map((text, index) => rootFile(join(folder, "operator"), index + 1, text)));
  const events: AgentEvent[] = [];
  const follow = (
    file: string | undefined,
    named: number,
    read = (version: number): Promise<string | undefined> => Promise.resolve(documents[version - 1]),
  ) =>
    followRoot(
      { file, pinned: [], sources: [] },
      {
        ...{ layout, target: TARGET, named, hub: { name: "the hub", read }, others: [], keeps: true },
        emit: (event) => events.push(event),
      },
    );
  t.match(await follow(files[0], 0), { version: 1 });
  events.length = 0;
  const version = async () => (await readFollowedRoot(layout, TARGET))?.version;
  return { folder, files, follow, events, version };
}

t.test("an operator's file that is versions ahead is reached by way of the hub", async (t) => {
  const { files, follow, version } = await following(t);
  t.match(await follow(files[3], 3), { version: 4 }, "the hub brings those between");
  t.match(await follow(files[3], LAST), { version: LAST }, "and goes on beyond it");
  t.equal(await version(), LAST);
});

t.test("if nobody brings those between, it is an error that says so", async (t) => {
  const { files, follow, version } = await following(t);
  const gone = () => Promise.resolve(undefined);
  await t.rejects(follow(files[3], 3, gone), { code: "trust_root_order", message: /version 2 comes next/ });
  t.equal(await version(), 1);
});

t.test("a folder of all versions needs no hub", async (t) => {
  const { folder, follow, version } = await following(t);
  t.match(await follow(join(folder, "operator"), 0), { version: LAST });
  t.equal(await version(), LAST);
});

t.test("a file that is gone is no fault once the root is there, another fault is one", async (t) => {
  const { folder, follow } = await following(t);
  t.match(await follow(join(folder, "missing.json"), 0), { version: 1 });
  await t.rejects(follow(join(folder, "operator", "1.root.json", "below"), 0), { code: "credential_unreadable" });
});

t.test("a check that is ended refuses no root", async (t) => {
  const { files, follow, events } = await following(t);
  const ended = () => Promise.reject(new DOMException("ended", "AbortError"));
  await t.rejects(follow(files[0], 2, ended), { name: "AbortError" });
  t.strictSame(events, []);
});
