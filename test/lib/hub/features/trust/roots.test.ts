// Holds: which version of a trust root a hub adds, and who follows it (lib/hub/features/trust/publish.ts)
import t, { type Test } from "tap";
import { heldKey, rootChain } from "../../../../support/forged/roots.ts";
import {
  type Answer,
  createProject,
  isErrorBody,
  publication,
  type RunningHub,
  startHub,
} from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { trustAt } from "../../../../support/hub/trust.ts";
import { needs } from "../../../../support/programs/optional.ts";

/** Runs a test on both databases. */
function onBoth(title: string, body: (t: Test, hub: RunningHub) => Promise<void>): void {
  t.test(`${title} (SQLite)`, async (t) => body(t, await startHub(t)));
  t.test(`${title} (PostgreSQL)`, { skip: needs("initdb") }, async (t) =>
    body(t, await startHub(t, { databaseUrl: (await startPostgres(t))! })),
  );
}

/** A project, and what its hosts ask. */
async function watched(hub: RunningHub) {
  const project = await createProject(hub);
  const bearer = await project.session();
  const at = `/app/deploy/v1/projects/${project.id}`;
  return {
    project,
    latest: (etag?: string): Promise<Answer> =>
      hub.call("GET", `${at}/versions/latest`, { bearer, ...(etag && { headers: { "if-none-match": etag } }) }),
    located: (version: string): Promise<Answer> => hub.call("GET", `${at}/artifacts/${version}`, { bearer }),
    root: (version: number | string): Promise<Answer> => hub.call("GET", `${at}/roots/${version}`, { bearer }),
  };
}

onBoth("a root is published version by version, and hosts are told", async (t, hub) => {
  const { publish, show, read, list } = trustAt(hub);
  const { project, latest, located, root } = await watched(hub);
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
  const before = await latest();
  t.strictSame(before.body, { version: "1.0.0" });
  t.equal(before.headers.get("etag"), '"1.0.0"', "without a root the ETag is the version alone");
  t.notOk("root_version" in (await located("1.0.0")).body);
  isErrorBody(t, await root(1), 404, "not_found");

  const chain = rootChain();
  const [first, second] = [heldKey(), heldKey()];
  const one = chain.version(1, [first], { names: { [first.id]: "ci" } });
  const added = await publish(one, [project.id]);
  t.equal(added.status, 201, JSON.stringify(added.body));
  t.match(added.body, { id: chain.id, owner: "admin", version: 1, targets: [project.id] });
  t.strictSame((await publish(one)).body, added.body, "the same version again changes nothing");
  t.equal((await publish(one)).status, 200);
  t.strictSame((await show(chain.id)).body, added.body);
  t.strictSame((await list()).body, { items: [added.body], next: null });

  const told = await latest(before.headers.get("etag")!);
  t.equal(told.status, 200);
  t.strictSame(told.body, { version: "1.0.0", root_version: 1 });
  t.equal(told.headers.get("etag"), '"1.0.0~root=1"');
  t.equal((await located("1.0.0")).body.root_version, 1);
  t.equal((await root(1)).bytes.toString(), one, "byte for byte");
  t.equal((await read(chain.id, 1)).bytes.toString(), one);
  isErrorBody(t, await root(2), 404, "not_found");

  const two = chain.version(2, [second]);
  t.match(await publish(two), { status: 201, body: { version: 2, targets: [project.id] } });
  t.strictSame((await latest()).body, { version: "1.0.0", root_version: 2 });
  t.equal((await root(1)).bytes.toString(), one, "earlier versions stay");
  t.equal((await root(2)).bytes.toString(), two);
});

onBoth("forks, gaps and lower versions are refused, and change nothing", async (t, hub) => {
  const { publish, show } = trustAt(hub);
  const chain = rootChain();
  const [signer, other] = [heldKey(), heldKey()];
  isErrorBody(t, await publish(chain.version(2, [signer])), 422, "trust_root_order");
  t.equal((await publish(chain.version(1, [signer]))).status, 201);
  t.equal((await publish(chain.version(2, [other]))).status, 201);
  const before = (await show(chain.id)).body;
  isErrorBody(t, await publish(chain.version(2, [signer])), 409, "trust_root_forked");
  isErrorBody(t, await publish(chain.version(1, [other])), 409, "trust_root_forked");
  isErrorBody(t, await publish(chain.version(4, [signer])), 422, "trust_root_order");
  isErrorBody(
    t,
    await publish(chain.version(3, [signer], { by: chain.holders.slice(0, 1) })),
    422,
    "trust_root_undersigned",
  );
  const unsigned = chain.version(2, [signer], { by: [] });
  isErrorBody(t, await publish(unsigned), 422, "trust_root_undersigned");
  t.equal((await publish(chain.version(1, [signer], { by: chain.holders.slice(1) }))).status, 200, "other signatures");
  t.strictSame((await show(chain.id)).body, before);
});
