import { semverLabel } from "./identifiers.ts";
import { USER_AGENT } from "./surfaces/headers.ts";
import { isDowngrade } from "./versions.ts";

/** First version whose programs say it in their requests. */
const FIRST_TOLD = "0.3.0";

/** Words in place of the version of an agent that does not say it: all of them are older. */
export const EARLIER = `before ${FIRST_TOLD}`;

const MAX_CHARACTERS = 64;

/**
 * Returns the version of the agent that has sent a request, or {@link EARLIER}; undefined for a request of another
 * program.
 *
 * @param userAgent header `User-Agent`
 */
export function agentIn(userAgent: string | undefined): string | undefined {
  if (userAgent === USER_AGENT) return EARLIER;
  if (userAgent?.startsWith(`${USER_AGENT}/`) !== true) return undefined;
  const version = userAgent.slice(USER_AGENT.length + 1);
  return version.length <= MAX_CHARACTERS && semverLabel.safeParse(version).success ? version : undefined;
}

/** Tells whether an agent is older than the version that a release needs. @param agent as {@link agentIn} returns it */
export function isAgentOlder(agent: string, needed: string): boolean {
  // Builds before a release say the version of the last one.
  return agent === EARLIER || (isDowngrade(needed, FIRST_TOLD) && isDowngrade(needed, agent));
}
