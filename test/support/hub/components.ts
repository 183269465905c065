import type { FoundComponents } from "../../../lib/contract/components/routes.ts";
import type { FeatureFill } from "./filling.ts";
import type { RunningHub } from "./harness.ts";
import { until } from "./project-fleet.ts";

/** Answer of this version's hub, which says what is not indexed. */
type Answered = FoundComponents & { unindexed: NonNullable<FoundComponents["unindexed"]> };

/** Looks for a component. */
export async function findComponent(hub: Pick<RunningHub, "call">, q: string, key?: string): Promise<Answered> {
  const path = `/app/deployments/deployments/components?q=${encodeURIComponent(q)}`;
  const { status, body, bytes } = await hub.call("GET", path, key === undefined ? {} : { key });
  if (status !== 200) throw new Error(`${status} ${bytes.toString()}`);
  return body as Answered;
}

/** Waits until every SBOM is indexed. */
export async function indexed(hub: Pick<RunningHub, "call">): Promise<void> {
  const { unindexed } = await until(
    () => findComponent(hub, "any"),
    (found) => found.unindexed.length === 0,
  );
  if (unindexed.length > 0) throw new Error(`not indexed: ${JSON.stringify(unindexed)}`);
}

export const componentFill: FeatureFill = {
  fill: ({ hub }) => indexed(hub),
  show: ({ hub }) => indexed(hub),
  pages: () => ({ components: "/components?q=lodash" }),
  rights: () => ({ "/components?q=lodash": "/app/deployments/deployments/components?q=lodash" }),
  lists: () => ({ "fleet find": ["fleet find lodash", true] }),
};
