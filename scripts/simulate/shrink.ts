/** Shrinks a broken plan to fewer commands that break the same rule. */
import type { Database } from "../../lib/hub/records/port.ts";
import type { Plan } from "./plan.ts";
import { play, type Played } from "./play.ts";

/** Most plans that are tried. */
const MOST_TRIES = 60;

/** Returns the kind of the broken rule, without the version or host in it, which may differ in a shorter plan. */
const kindOf = ({ broken }: Played): string | undefined => broken?.rule.replace(/[\w.-]*\d[\w.-]*/g, "…");

/** Leaves out what is not needed to break a rule: hosts, then commands, from the last ones on. */
export async function shrink(database: Database, plan: Plan, broken: Played): Promise<Played> {
  let [best, shortest] = [broken, plan];
  let tries = 0;
  const attempt = async (shorter: Plan): Promise<boolean> => {
    if (tries++ >= MOST_TRIES) return false;
    const played = await play(database, shorter);
    if (kindOf(played) !== kindOf(broken)) return false;
    [best, shortest] = [played, shorter];
    return true;
  };
  for (let index = plan.commands.length - 1; index >= 0; index--) {
    const following = shortest.commands[index + 1];
    const left = shortest.commands[index]!;
    const commands = shortest.commands.toSpliced(index, 1);
    // The following command keeps its time.
    if (following !== undefined) commands[index] = { ...following, after: following.after + left.after };
    await attempt({ ...shortest, commands });
  }
  return best;
}
