import { hostFingerprint } from "../../artifact/sealed/host-key.ts";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import type { KitHost, MadeKit } from "../../contract/kits/records.ts";

/** Most that the clocks of a hub and a maker of kits may differ, in milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 60 * 60 * 1000;
/** Most that a hub may round the end of a kit, in milliseconds. */
const ROUNDING_MS = 1000;

/** Returns the error of a hub that has answered with another kit than it was asked for. */
export const otherAnswer = (why: string, cause?: unknown): SealiftError =>
  artifactError("bad_answer", `The hub has made another kit than it was asked for: ${why}.`, {
    ...(cause !== undefined && { cause }),
    hint: "Nothing of the kit counts, and it was ended at the hub. Try again; if it stays so, ask the hub's operator.",
  });

/**
 * Requires that a hub has made the kit that it was asked for: for these hosts, from now on, and for this long. What is
 * sealed to a host only the host can read.
 *
 * @throws ArtifactError `bad_answer`
 */
export function requireAsAsked(
  { hosts, made_at, ends_at }: Pick<MadeKit, "hosts" | "made_at" | "ends_at">,
  { hosts: wanted, lastsS }: { hosts: readonly KitHost[]; lastsS: number },
  now = Date.now(),
): void {
  for (const host of wanted)
    if (!Object.hasOwn(hosts, hostFingerprint(host))) throw otherAnswer(`it is not sealed to ${host.host_id}`);
  const answered = Object.keys(hosts).length;
  if (answered !== wanted.length) throw otherAnswer(`it is for ${answered} hosts, and not for ${wanted.length}`);
  const [made, end] = [Date.parse(made_at), Date.parse(ends_at)];
  if (Math.abs(made - now) > MAX_CLOCK_DIFFERENCE_MS)
    throw otherAnswer(`it says that it was made at ${made_at}, and it is ${new Date(now).toISOString()} here`);
  if (Math.abs(end - made - lastsS * 1000) > ROUNDING_MS)
    throw otherAnswer(`it ends at ${ends_at}, and was asked to last ${lastsS} seconds from ${made_at}`);
}
