import type { HubConnection } from "../../client/hub-connection.ts";
import { keyService } from "../../client/key-service.ts";
import { projectCalled } from "../../client/lookup.ts";
import { asSealiftError } from "../../contract/errors.ts";
import type { ManagedVersion } from "../../contract/surfaces/keys.ts";
import type { Target } from "../../contract/target.ts";
import { targetText } from "../../contract/target.ts";
import type { VersionState } from "../../contract/version-states.ts";
import { byPrecedence } from "../../contract/versions.ts";
import { liveRollout } from "../rollouts/live-rollout.ts";
import type { Latest } from "../watch/decide.ts";
import { marketplacePoll, projectPoll } from "../watch/target.ts";
import type { ListedVersion, Situation } from "./why.ts";

/** Most versions searched, those published last. */
const MOST_VERSIONS = 1000;

/** Facts that a hub has about a target. */
export interface TargetAtHub extends Pick<Situation, "newest" | "rollout" | "unreachable"> {
  /** Answer to this host, as a watch gets it. */
  answer?: Latest;
}

/** Features that tell more of what holds a version. */
const HOLDERS: readonly ((hub: HubConnection, id: string, state: VersionState) => Promise<Partial<TargetAtHub>>)[] = [
  liveRollout,
];

/**
 * Asks a hub which version it gives this host and, if the key may know, which is the newest and what holds it. Never
 * rejects for an answer of the hub.
 *
 * @param hub with the name and labels of this host
 * @param running version that runs here; null for none
 */
export async function askHub(target: Target, hub: HubConnection, running: string | null): Promise<TargetAtHub> {
  const { kind, slug } = target;
  const poll = kind === "project" ? projectPoll(slug, hub) : marketplacePoll(kind, slug, hub);
  try {
    const polled = await poll(undefined, hub.signal ?? new AbortController().signal, running);
    const facts = await published(target, hub);
    return { ...facts, ...(polled.changed && { answer: polled.latest }) };
  } catch (thrown) {
    const { message, hint } = asSealiftError(thrown);
    return { unreachable: { message, hint } };
  }
}

/** Finds the newest version and its rollout; nothing where the key may not list them. */
async function published(target: Target, hub: HubConnection): Promise<Pick<TargetAtHub, "newest" | "rollout">> {
  const client = keyService(hub);
  try {
    const id = target.kind === "project" ? target.slug : (await projectCalled(client, targetText(target))).id;
    const versions: ManagedVersion[] = [];
    for await (const version of client.listVersions({ params: { id } }))
      if (versions.push(version) === MOST_VERSIONS) break;
    const [newest] = versions.filter(isKnownToHosts).toSorted(byPrecedence);
    if (newest === undefined) return {};
    const found: Pick<TargetAtHub, "newest" | "rollout"> = { newest: listed(newest) };
    for (const ask of HOLDERS) if (newest.state !== undefined) Object.assign(found, await ask(hub, id, newest.state));
    return found;
  } catch (thrown) {
    const { status } = asSealiftError(thrown);
    if (status === 403 || status === 404) return {};
    throw thrown;
  }
}

/** Tells whether hosts see a version. A staged one is hidden from them. */
const isKnownToHosts = ({ state }: ManagedVersion): boolean =>
  state === undefined || state.name === "rolling" || state.name === "held";

const listed = ({ version, is_yanked, yanked_reason, state, state_reason }: ManagedVersion): ListedVersion => ({
  ...{ version, state, isYanked: is_yanked, yankedReason: yanked_reason, stateReason: state_reason ?? null },
});
