import { Command } from "clipanion";
import type { AppServeEvent } from "../../lib/apps/events.ts";
import { LIMIT_WORDS } from "../../lib/contract/files/limit-forms.ts";
import { appServe } from "../../lib/options/apps.ts";
import { closeInherited } from "../../lib/support/inherited-descriptors.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { aborted } from "../shell/serve.ts";

export class AppServeCommand extends withOptions(appServe) {
  static override service = "sealift-apps";
  static override paths = [["app", "serve"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Run the applications of a project root, without systemd",
    details: `
      Runs every application that \`applications.yaml\` grants and a deployment has installed, keeps its sockets open
      while it restarts, and starts it again when it ends. Deployments, rollbacks and \`remove\` reach it over a local
      socket in the project root, which only the same user may open. As root it runs each application as the user of
      its grant.

      Prints one \`ready\` line on stdout, then a line for each start and end (events with \`--json\`). SIGHUP reads
      \`applications.yaml\` again; SIGTERM or SIGINT ends all applications.
    `,
    examples: [["In a container", "$0 app serve --project-root /srv/app"]],
  });

  override async run(): Promise<number> {
    const [{ AppServe }, { layoutOf }, { openProjectRoot }, { systemdNotifier }, { resolve }] = await Promise.all([
      import("../../lib/apps/serve.ts"),
      import("../../lib/releases/layout.ts"),
      import("../../lib/releases/project-root.ts"),
      import("../../lib/support/systemd/notify.ts"),
      import("node:path"),
    ]);
    const { projectRoot, allowForeignRoot } = this.options;
    closeInherited();
    using interruption = interruptible();
    using notifier = systemdNotifier({ warn: this.warn });
    await using root = await openProjectRoot(layoutOf(resolve(projectRoot)), { allowForeignRoot });
    await using served = await AppServe.start(root.layout, (event) => this.#show(event));
    const reload = (): void => void notifier.reload(() => this.#reload(served));
    process.on("SIGHUP", reload);
    try {
      const statuses = served.statuses();
      const membership = Object.fromEntries(statuses.map(({ id, membership: told }) => [id, told ?? null]));
      const unenforced = Object.fromEntries(
        statuses.flatMap(({ id, unenforced: names = [] }) => (names.length === 0 ? [] : [[id, names]])),
      );
      const facts = { project_root: resolve(projectRoot), applications: statuses.length, membership, unenforced };
      if (this.json) this.print.event({ event: "ready", ...facts });
      else this.print.line(`ready ${resolve(projectRoot)}`);
      notifier.ready(`Running the applications of ${projectRoot}`);
      await aborted(interruption.signal);
      notifier.stopping("Ending the applications");
    } finally {
      process.off("SIGHUP", reload);
    }
    // Before the result, not after it.
    await served[Symbol.asyncDispose]();
    return this.done({});
  }

  /** Reads the grants again; invalid ones change nothing. */
  async #reload(served: { reload(): Promise<void> }): Promise<void> {
    await served.reload().catch((error: Error) => this.warn(`The grants were not taken over: ${error.message}`));
  }

  #show(event: AppServeEvent): void {
    if (this.json) this.print.event(event);
    else this.print.line(`${event.id}: ${lineOf(event)}`);
  }
}

const inSeconds = (ms: number): string => `${ms / 1000} s`;

function lineOf(event: AppServeEvent): string {
  switch (event.event) {
    case "application.started": {
      const who = event.same_user ? `${event.user}, who can read the agent's keys and settings` : event.user;
      const told = event.reason === undefined ? "" : `; membership ${event.membership}: ${event.reason}`;
      const void_ = (event.unenforced ?? []).map((name) => LIMIT_WORDS[name]).join(", ");
      const limits = void_ === "" ? "" : `; its limit of ${void_} does nothing: ${event.unlimited}`;
      return `started as process ${event.pid}, user ${who} (release ${event.release})${told}${limits}`;
    }
    case "application.ended":
      return `${event.message}; it is started again in ${inSeconds(event.restart_ms)}`;
    case "application.migrated":
      return `migrated in ${inSeconds(event.duration_ms)}`;
    case "application.stopped":
      return event.killed ? "killed: it did not end in time" : "stopped";
    case "job.begun":
      return `begun as a job, due ${event.due} (release ${event.release})`;
    case "job.ended":
      return event.message === null ? "the job went well" : `the job failed: ${event.message}`;
    case "job.skipped":
      return `left out at ${event.due}: the run before goes on`;
    case "application.failed":
      return `${event.message}${event.restart_ms === null ? "" : ` It is tried again in ${inSeconds(event.restart_ms)}.`}`;
  }
}
