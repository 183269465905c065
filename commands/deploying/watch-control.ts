import { join, resolve } from "node:path";
import { Command, Option } from "clipanion";
import { WATCH_ACTIONS, type WatchAction } from "../../lib/agent/watch/events.ts";
import { request } from "../../lib/agent/watch/requests.ts";
import type { FleetTarget } from "../../lib/client/fleet.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { host } from "../../lib/options/agent.ts";
import { type Layout, layoutOf } from "../../lib/releases/layout.ts";
import { withOptions } from "../shell/base.ts";
import { parseTarget } from "./fleet.ts";

/** Asks a running watch for something, from another terminal or a script. */
export class WatchControl extends withOptions(host) {
  static override paths = WATCH_ACTIONS.map((action) => ["watch", action]);
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Ask a running watch to pause, resume, check, redeploy or retry a target",
    details: `
      \`pause\` keeps the running version, \`resume\` ends that; \`check\` asks the hub now; \`redeploy\` installs the latest version even if it runs already;
      \`retry\` gives a version in quarantine another chance. The request is left in the project root: the watch takes it up at once, or when it
      is started again.
    `,
    examples: [
      ["Keep what runs", "$0 watch pause plugin:tide-table --project-root /srv/app"],
      ["Try a version again", "$0 watch retry project:prj_… --project-root /srv/app"],
    ],
  });

  targets = Option.Rest({ name: "TARGET", required: 1 });

  override async run(): Promise<number> {
    const action = this.path.at(-1) as WatchAction;
    const root = resolve(this.options.projectRoot);
    const layout = layoutOf(root);
    const targets = this.targets.map(parseTarget);
    const { existsSync } = await import("node:fs");
    if (!existsSync(layout.sealift)) {
      throw usageError("usage", `${root} is no project root: nothing was ever deployed or watched there.`, {
        hint: "Name it with --project-root.",
      });
    }
    await checkKnown(layout, targets);
    for (const { kind, slug } of targets) await request(layout, `${kind}-${slug}`, action);
    if (!this.json) this.print.line(`asked to ${action}: ${this.targets.join(", ")} in ${root}`);
    return this.done({ action, targets: this.targets, project_root: root });
  }
}

/** A typo would wait in the folder of requests for ever. @throws UsageError `usage` for a target that was never watched or deployed here */
async function checkKnown(layout: Layout, targets: readonly FleetTarget[]): Promise<void> {
  const { readdir } = await import("node:fs/promises");
  const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
  const watched = (await namesIn(join(layout.sealift, "state"))).map((name) => name.replace(/^watch-|\.json$/g, ""));
  const known = [...new Set([...watched, ...(await namesIn(layout.releases()))])].map((name) => name.replace("-", ":"));
  const unknown = targets.map(({ kind, slug }) => `${kind}:${slug}`).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const { closestTo } = await import("../../lib/support/suggestion.ts");
  const meant = unknown.flatMap((name) => closestTo(name, known) ?? []);
  throw usageError("usage", `${unknown.join(", ")} was never deployed or watched in ${layout.root}.`, {
    hint:
      meant.length > 0
        ? `Did you mean ${meant.join(", ")}?`
        : `Known there: ${known.length === 0 ? "nothing" : known.toSorted().join(", ")}.`,
  });
}
