/** Trust roots at a hub. */
import { heldKey, rootChain } from "../forged/roots.ts";
import { type FeatureFill, HOSTILE } from "./filling.ts";
import type { RunningHub } from "./harness.ts";

type Calls = Pick<RunningHub, "call">;
type Key = string | null | undefined;

/** Calls of the routes of trust roots; by the administrator's key unless another one is given. */
export const trustAt = (hub: Calls) => ({
  publish: (root: string, targets?: readonly string[], key?: Key) =>
    hub.call("POST", "/devkeys/roots", {
      json: { root, ...(targets && { targets }) },
      ...(key !== undefined && { key }),
    }),
  list: (key?: Key) => hub.call("GET", "/devkeys/roots", { ...(key !== undefined && { key }) }),
  show: (id: string, key?: Key) => hub.call("GET", `/devkeys/roots/${id}`, { ...(key !== undefined && { key }) }),
  read: (id: string, version: number | string, key?: Key) =>
    hub.call("GET", `/devkeys/roots/${id}/versions/${version}`, { ...(key !== undefined && { key }) }),
  leave: (target: string, key?: Key) =>
    hub.call("DELETE", `/devkeys/projects/${target}/root`, { ...(key !== undefined && { key }) }),
  signers: async (target: string) =>
    (await hub.call("GET", `/devkeys/projects/${target}/signers`)).body.items as {
      public_key: string;
      state: string;
      name: string;
      reason: string | null;
    }[],
});

/** Most that a key may be called. */
const NAME = HOSTILE.replace(/\u2028/g, "").slice(0, 64);

/** Fills a root that one project follows, and another one has left. */
export const trustFill: FeatureFill = {
  async fill({ done }) {
    const chain = rootChain();
    const signer = heldKey();
    const ids: string[] = [];
    for (const _ of ["follows", "leaves"]) {
      const json = { name: HOSTILE, kind: "project", same_name: true };
      ids.push((await done("POST", "/devkeys/projects", { json })).id);
    }
    const names = Object.fromEntries([signer, ...chain.holders].map(({ id }) => [id, NAME]));
    for (const version of [1, 2])
      await done("POST", "/devkeys/roots", {
        json: { root: chain.version(version, [signer], { names }), targets: ids },
      });
    await done("DELETE", `/devkeys/projects/${ids[1]}/root`);
  },
  async show({ hub }) {
    const service = await hub.call("GET", "/app/services/services/chart-store");
    const chain = rootChain();
    const [ci, release] = [heldKey(), heldKey()];
    const names = Object.fromEntries(
      [...chain.holders, ci, release].map(({ id }, index) => [id, ["ada", "grace", "mary", "ci", "release"][index]!]),
    );
    const root = chain.version(1, [ci, release], { names });
    await hub.call("POST", "/devkeys/roots", { json: { root, targets: [service.body.id as string] } });
  },
  pages: (projectId) => ({ trust: "/services/chart-store/trust", "no trust": `/projects/${projectId}/trust` }),
  rights: ({ project, plugin, secret }) => ({
    [`/projects/${project}/trust`]: `/devkeys/projects/${project}`,
    "/plugins/tide-table/trust": `/devkeys/projects/${plugin}`,
    "/plugins/secret/trust": `/devkeys/projects/${secret}`,
  }),
};
