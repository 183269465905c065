import { Command, Option } from "clipanion";
import { WATCH_ACTIONS, type WatchAction } from "../../lib/agent/watch/events.ts";
import { host } from "../../lib/options/agent.ts";
import { withOptions } from "../shell/base.ts";
import { projectRootAt, targetsAt } from "../targets/targets.ts";

/** Sends a request to a running watch, from another terminal or a script. */
export class WatchControl extends withOptions(host) {
  static override paths = WATCH_ACTIONS.map((action) => ["watch", action]);
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Ask a running watch to pause, resume, check, redeploy or retry a target",
    details: `
      \`pause\` keeps the running version, \`resume\` ends that; \`check\` asks the hub now; \`redeploy\` installs the
      latest version even if it runs already; \`retry\` fetches a version in quarantine again and gives it
      another chance. The request is left in the project root: the watch takes it up at once, or when it is started
      again.
    `,
    examples: [
      ["Keep what runs", "$0 watch pause plugin:tide-table --project-root /srv/app"],
      ["Try a version again", "$0 watch retry project:prj_… --project-root /srv/app"],
    ],
  });

  targets = Option.Rest({ name: "TARGET", required: 1 });

  override async run(): Promise<number> {
    const action = this.path.at(-1) as WatchAction;
    const layout = projectRootAt(this.options.projectRoot);
    const { requestAction } = await import("../../lib/agent/watch/operator-requests.ts");
    // A typo would wait in the folder of requests for ever.
    for (const target of await targetsAt(layout, this.targets)) await requestAction(layout, target, action);
    if (!this.json) this.print.line(`asked to ${action}: ${this.targets.join(", ")} in ${layout.root}`);
    return this.done({ action, targets: this.targets, project_root: layout.root });
  }
}
