import { userInfo } from "node:os";
import type { ApplicationGrant } from "../contract/files/applications.ts";
import { findUser } from "../support/users.ts";
import { ServeFault } from "./serve-fault.ts";

/** User who runs an application. */
export interface RunAs {
  name: string;
  home: string;
  /** Ids to change to; undefined for the user of this process. */
  ids: { uid: number; gid: number } | undefined;
}

/**
 * Returns the user whom a grant lets run its application: the one that it names, or that of this process if it permits
 * this and root does not run it.
 *
 * @throws ServeFault `not_granted`, `settings_invalid`
 */
export async function userOf(id: string, { user, same_user: sameUser }: ApplicationGrant): Promise<RunAs> {
  if (process.getuid?.() === 0) {
    if (user === undefined)
      throw new ServeFault("not_granted", `applications.yaml names no user for ${id}, and this is root.`);
    const found = await lookUp(user);
    if (found.ids.uid === 0)
      throw new ServeFault("not_granted", `No application runs as root: ${id} needs another user.`);
    return found;
  }
  const { name, home } = ownUser();
  if (user !== undefined && user !== name && !sameUser)
    throw new ServeFault("not_granted", `${id} is to run as ${user}, which \`app serve\` can do as root only.`);
  if (!sameUser)
    throw new ServeFault(
      "not_granted",
      `${id} would run as ${name}, who can read the agent's keys: \`sealift app allow ${id} --same-user\` permits it.`,
    );
  return { name, home, ids: undefined };
}

/** Returns name and home of this process's user, who in a container may be a number alone. */
function ownUser(): { name: string; home: string } {
  try {
    const { username: name, homedir: home } = userInfo();
    return { name, home };
  } catch {
    return { name: String(process.getuid?.() ?? "nobody"), home: process.env.HOME ?? "/" };
  }
}

async function lookUp(user: string): Promise<RunAs & { ids: { uid: number; gid: number } }> {
  const found = await findUser(user);
  if (found === undefined) throw new ServeFault("settings_invalid", `This machine has no user ${user}.`);
  const { name, home, uid, gid } = found;
  return { name, home, ids: { uid, gid } };
}
