import { Command, Option } from "clipanion";
import type { ApplicationState } from "../../lib/agent/application-status.ts";
import { worstExit } from "../../lib/contract/codes.ts";
import { SealiftError } from "../../lib/contract/errors.ts";
import { LIMIT_WORDS } from "../../lib/contract/files/limit-forms.ts";
import { appRunner } from "../../lib/options/apps.ts";
import { counted } from "../../lib/support/counted.ts";
import { withOptions } from "../shell/base.ts";
import { timeText } from "../shell/output/listing.ts";
import { fieldsOf } from "../shell/output/records.ts";
import { projectRootAt } from "../targets/targets.ts";
import { limitsText, usageText } from "./limit-text.ts";

export class AppStatus extends withOptions(appRunner) {
  static override paths = [["app", "status"]];
  static override listed = () =>
    fieldsOf<ApplicationState>({
      id: true,
      state: true,
      since: true,
      pid: true,
      restarts: true,
      user: true,
      version: true,
      same_user: true,
      membership: true,
      addresses: true,
      limits: true,
      unenforced: true,
      used: true,
      stopped_since: true,
      healthy: true,
      fault: true,
      next: true,
      last: true,
      outcome: true,
    });
  static override usage = Command.Usage({
    category: "Applications",
    description: "Show the applications of this host, and whether they work",
    details: `
      Asks systemd or \`sealift app serve\`, whichever runs them, and asks each once for its health. Ends with 0 when all
      that are installed work, and otherwise with the exit code of what is wrong: 1 for one that is not healthy, 75 when
      what runs them does not answer.
    `,
    examples: [
      ["All", "$0 app status"],
      ["One, for a program", "$0 app status web --json"],
    ],
  });

  id = Option.String({ name: "ID", required: false });

  override async run(): Promise<number> {
    const [{ applicationStates }, { knownApplication }] = await Promise.all([
      import("../../lib/agent/application-status.ts"),
      import("./application-id.ts"),
    ]);
    const { projectRoot, systemdScope } = this.options;
    const layout = projectRootAt(projectRoot);
    const ids = this.id === undefined ? [] : [await knownApplication(layout, this.id)];
    let count = 0;
    const failed: { id: string; error: SealiftError }[] = [];
    for await (const { application, error } of applicationStates(layout, ids, systemdScope)) {
      count++;
      if (error !== undefined) failed.push({ id: application.id, error });
      if (this.json) this.print.event({ event: "application", ...application });
      else for (const line of linesOf(application, layout.root)) this.print.line(line);
    }
    if (count === 0) this.note(`No application is installed or granted in ${layout.root}.`);
    const result = { project_root: layout.root, applications: count };
    const worst = worstExit(failed.map(({ error }) => error.exitCode));
    const first = failed.find(({ error }) => error.exitCode === worst)?.error;
    if (first === undefined) return this.done(result);
    const ill = failed.map(({ id }) => id);
    const message = `${ill.join(", ")} ${ill.length === 1 ? "does" : "do"} not work.`;
    const faults = failed.map(({ error }) => error.message);
    return this.fail(new SealiftError(first.kind, first.code, message, { faults }), result);
  }
}

function linesOf(application: ApplicationState, root: string): string[] {
  const { id, state, since, version, pid, user, restarts, addresses, healthy, fault } = application;
  const lines = [`${id}  ${state}${since === null ? "" : ` since ${timeText(since)}`}`];
  const say = (what: string, text: string): void => void lines.push(`  ${what.padEnd(9)} ${text}`);
  say("version", version ?? "none is installed");
  if (pid !== null) say("process", `${pid}, ${counted(restarts, "restart")}${user === null ? "" : `, user ${user}`}`);
  const { next, last, outcome } = application;
  if (next !== null) say("next", timeText(next));
  if (last !== null) say("last", `${timeText(last)}: ${outcome}`);
  const given = Object.entries(addresses).map(([name, at]) => `${name} ${at}`);
  if (given.length > 0) say("addresses", given.join(", "));
  const { used, limits, unenforced } = application;
  if (used !== null) say("uses", usageText(used, limits));
  else if (limitsText(limits) !== "") say("limits", limitsText(limits));
  for (const name of unenforced)
    say("limits", `that of ${LIMIT_WORDS[name]} does nothing here: no control group enforces it`);
  if (application.stopped_since !== null) say("stopped", `by an operator: \`sealift app start ${id}\` ends that`);
  if (healthy === true) say("health", "works");
  else if (fault !== null) say("health", `does not work: ${fault}`);
  if (application.membership === "none")
    say("members", "nothing tells its processes from others: a hostile version may outlive its successor");
  else if (application.membership === "user") say("members", `every process of the user ${user ?? "of its own"}`);
  if (application.same_user)
    say(
      "reads",
      `all that ${user ?? "its user"} can: keys of the agent, settings and data of all applications in ${root}`,
    );
  return lines;
}
