import { Command, Option } from "clipanion";
import type { DoctorOptions, Finding } from "../../lib/agent/doctor.ts";
import { EXIT } from "../../lib/contract/codes.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { DEPLOY_TIMEOUT_MS, HubCommand, hubConnection } from "../hub/hub-options.ts";
import { interruptible } from "../shell/base.ts";

const SIGNS: Record<Finding["status"], string> = { ok: "ok     ", warning: "warning", failed: "FAILED " };

export class Doctor extends HubCommand {
  static override paths = [["doctor"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Look at what a deployment on this host needs",
    details: `
      The project root and its file system, free space, deployments that were cut short, what runs and what is in quarantine, the
      supervisor's program, the hub, its clock, and the API key. Changes nothing. Ends with 1 when something would make a deployment fail.
    `,
    examples: [["Before the first deployment", "$0 doctor --project-root /srv/app --hub-url https://hub.example"]],
  });

  projectRoot = Option.String("--project-root", { description: "Folder to deploy into (default: the current one)" });
  projectId = Option.String("--project-id", {
    description: "Whether the key may deploy this project [SEALIFT_PROJECT_ID]",
  });
  supervisor = Option.String("--supervisor", {
    description: "What runs the plugins: none, runtime, systemd, docker or kubernetes (default: none)",
  });

  override async run(settings: Settings): Promise<number> {
    const { examine } = await import("../../lib/agent/doctor.ts");
    using interrupt = interruptible();
    const projectId = settings.text("project-id");
    const options: DoctorOptions = {
      projectRoot: settings.text("project-root") ?? ".",
      supervisor: settings.choice("supervisor", ["none", "runtime", "systemd", "docker", "kubernetes"], "none"),
      ...(settings.text("hub-url") !== undefined && {
        hub: {
          ...hubConnection(settings, DEPLOY_TIMEOUT_MS),
          signal: interrupt.signal,
          ...(projectId !== undefined && { projectId }),
        },
      }),
    };
    const findings: Finding[] = [];
    for await (const finding of examine(options)) {
      findings.push(finding);
      const { check, status, message, hint } = finding;
      if (this.json) this.output.event({ event: "finding", ...finding });
      else this.output.line(`${SIGNS[status]}  ${check}: ${message}${hint === undefined ? "" : `\n         ${hint}`}`);
    }
    const failed = findings.filter(({ status }) => status === "failed").length;
    const warnings = findings.filter(({ status }) => status === "warning").length;
    if (failed === 0) return this.done({ findings: findings.length, warnings });
    if (this.json) this.output.event({ event: "result", status: "failed", exit_code: EXIT.failed, failed, warnings });
    return EXIT.failed;
  }
}
