import type { Application } from "../../lib/contract/files/application.ts";
import type { StatedGrant } from "../../lib/releases/write-grant.ts";
import { limitsText } from "./limit-text.ts";

/** Describes what an application asks, and the grant by which it may, in lines. */
export function grantLines(
  id: string,
  app: Application,
  { listen = {}, limits, user, same_user: same, of }: StatedGrant,
): string[] {
  const lines = [`${id}  ${app.command.join(" ")}`];
  const say = (what: string, text: string): void => void lines.push(`  ${what.padEnd(9)} ${text}`);
  if (of !== undefined) say("of", `${of}: its user, settings and data`);
  const given = Object.entries(listen).map(([name, at]) => `${name} ${at}`);
  if (given.length > 0) say("addresses", given.join(", "));
  if (limits !== undefined && limitsText(limits) !== "") say("limits", limitsText(limits));
  if (app.migrate !== undefined) say("migrates", app.migrate.join(" "));
  if (app.health.command !== undefined) say("asks", app.health.command.join(" "));
  if (app.data !== undefined) say("data", app.data);
  const { required, optional } = app.environment;
  if (required.length > 0) say("needs", `the settings ${required.join(", ")}`);
  if (optional.length > 0) say("reads", `the settings ${optional.join(", ")}`);
  if (user !== undefined) say("user", user);
  else if (same === true) say("user", "that of `app serve`: it can read the agent's keys, and settings of others");
  return lines;
}
