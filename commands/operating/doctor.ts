import { Command, Option } from "clipanion";
import type { DoctorOptions } from "../../lib/agent/doctor.ts";
import type { Finding } from "../../lib/agent/finding.ts";
import { EXIT } from "../../lib/contract/codes.ts";
import { examination } from "../../lib/options/agent.ts";
import type { Layer } from "../../lib/options/layers.ts";
import { withoutPasswords } from "../../lib/support/printable.ts";
import { lastDeployment } from "../deploying/last-deployment.ts";
import { supervisorFrom } from "../deploying/supervision.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import { fieldsOf } from "../shell/output/records.ts";
import { projectRootAt, targetsAt } from "../targets/targets.ts";

const SIGNS: Record<Finding["status"], string> = { ok: "ok     ", warning: "warning", failed: "FAILED " };

export class Doctor extends withOptions(examination) {
  static override paths = [["doctor"]];
  static override listed = () => fieldsOf<Finding>({ check: true, status: true, message: true, hint: true });
  static override usage = Command.Usage({
    category: "Operating",
    description: "Check a host, or say why a version does not run on it",
    details: `
      With TARGET it says in one line why this host does not run the newest version of it: a rollout's wave, window or
      approval, a held or yanked version, a pin, a pause, quarantine, rights that wait for consent, the signer, the
      clock, a failure, or that nobody here has heard of it. The hub, its key and the host's name are those of the last
      deployment unless they are given. It ends with 1 where somebody should look at it.

      Without TARGET it looks at all that a deployment needs: the project root and its file system, free space, deployments that were cut short, what runs and what is in
      quarantine, the supervisor, the hub, its clock, and the API key. Changes nothing. Ends with 1 when something would
      make a deployment fail.
    `,
    examples: [
      ["Why the newest version does not run", "$0 doctor plugin:tide-table --project-root /srv/app"],
      ["Before the first deployment", "$0 doctor --project-root /srv/app --hub-url https://hub.example"],
    ],
  });

  target = Option.String({ name: "TARGET", required: false });

  protected override async keptLayers(): Promise<readonly Layer[]> {
    return this.target === undefined ? [] : lastDeployment(this.target, this.layers);
  }

  override run(): Promise<number> {
    return this.target === undefined ? this.#examine() : this.#why(this.target);
  }

  /** Describes in one line why a target does not run its newest version. */
  async #why(text: string): Promise<number> {
    const { projectRoot, hubUrl, apiKey = "", timeoutMs, hostId } = this.options;
    const layout = projectRootAt(projectRoot);
    const [target] = await targetsAt(layout, [text]);
    const [{ situationOf }, { isTrouble, whyLine, whyNotNewest }] = await Promise.all([
      import("../../lib/agent/newest/situation.ts"),
      import("../../lib/agent/newest/why.ts"),
    ]);
    using interrupt = interruptible();
    const hub =
      hubUrl === undefined
        ? undefined
        : { ...hubConnection({ hubUrl, apiKey, timeoutMs }, DEPLOY_TIMEOUT_MS), hostId, signal: interrupt.signal };
    const situation = { ...(await situationOf(layout, target!, hub)), target: text };
    const why = whyNotNewest(situation);
    const exitCode = isTrouble(why) ? EXIT.failed : EXIT.done;
    const line = whyLine(situation, why);
    if (this.json) {
      const { running, given = null, newest } = situation;
      this.print.event({
        ...{ event: "result", status: isTrouble(why) ? "failed" : "success", exit_code: exitCode },
        ...{ target: situation.target, reason: why.reason, message: line, hint: why.hint },
        ...{ running_version: running, given_version: given, newest_version: newest?.version ?? null },
      });
      return exitCode;
    }
    this.print.line(line);
    if (why.hint !== undefined) this.print.line(`  ${why.hint}`);
    return exitCode;
  }

  async #examine(): Promise<number> {
    const { examine } = await import("../../lib/agent/doctor.ts");
    using interrupt = interruptible();
    const { projectRoot, verify, projectId, hubUrl, apiKey = "", timeoutMs } = this.options;
    const { projectNamed } = await import("../../lib/client/lookup.ts");
    const hub = hubUrl === undefined ? undefined : hubConnection({ hubUrl, apiKey, timeoutMs }, DEPLOY_TIMEOUT_MS);
    const options: DoctorOptions = {
      projectRoot,
      verify,
      // Units are asked once: nothing was just started.
      supervisor: await supervisorFrom({ ...this.options, staysUpMs: 0 }),
      ...(hub !== undefined && {
        hub: {
          ...hub,
          signal: interrupt.signal,
          ...(projectId !== undefined && { projectId: await projectNamed(hub, projectId) }),
        },
      }),
    };
    const findings: Finding[] = [];
    for await (const finding of withWall(withNetwork(examine(options), this.options.caFile), projectRoot)) {
      findings.push(finding);
      const { check, status, message, hint } = finding;
      if (this.json) {
        this.print.event({ event: "finding", ...finding });
        continue;
      }
      this.print.line(`${SIGNS[status]}  ${check}: ${message}`);
      if (hint !== undefined) this.print.line(`         ${hint}`);
    }
    const failed = findings.filter(({ status }) => status === "failed").length;
    const warnings = findings.filter(({ status }) => status === "warning").length;
    if (failed === 0) return this.done({ findings: findings.length, warnings });
    if (this.json) this.print.event({ event: "result", status: "failed", exit_code: EXIT.failed, failed, warnings });
    return EXIT.failed;
  }
}

/** Yields the findings, and how the hub is reached if not directly. */
async function* withNetwork(findings: AsyncIterable<Finding>, caFile: string | undefined): AsyncGenerator<Finding> {
  const { proxyVariables } = await import("../shell/network.ts");
  const proxies = Object.entries(proxyVariables()).map(([name, value]) => `${name}=${withoutPasswords(value)}`);
  if (proxies.length > 0) yield { check: "proxy", status: "ok", message: proxies.join(", ") };
  if (caFile !== undefined)
    yield { check: "certificates", status: "ok", message: `those of ${caFile} are trusted, too` };
  yield* findings;
}

/** Adds the wall that would confine sandboxed plugins here, where the project root has a runtime configuration. */
async function* withWall(findings: AsyncIterable<Finding>, projectRoot: string): AsyncGenerator<Finding> {
  yield* findings;
  const { examineWall } = await import("../../lib/runtime/examine-wall.ts");
  const finding = await examineWall(projectRoot);
  if (finding) yield { check: "sandbox", ...finding };
}
