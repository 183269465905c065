import { blamesVersion, CUT_SHORT, HELD_APPLICATION, HELD_POLICY, HELD_RIGHTS } from "../../contract/blame.ts";
import type { Code } from "../../contract/codes.ts";
import { SealiftError } from "../../contract/errors.ts";
import type { DeploymentStatus, LocalReport, StepOutcome } from "../../contract/surfaces/reports.ts";
import type { TargetName } from "../../contract/target.ts";
import type { Attempt } from "../../releases/journal.ts";
import type { Layout } from "../../releases/layout.ts";
import type { RunningRelease } from "../../releases/release.ts";
import type { AgentEvent, Emit } from "../base/events.ts";

/** Most characters of an error that a hub accepts in a report. */
export const MAX_MESSAGE = 4000;
/** Most links of an error's cause chain that a report keeps. */
const MAX_CAUSES = 10;

/** Facts of the artifact that a deployment has learned. */
export type ArtifactFacts = Pick<LocalReport, "repo" | "artifact_sha256" | "signer" | "plugins">;

/** Returns the fields of a report about the running version; none if it is unknown. */
export const runningFields = (
  running: RunningRelease | undefined,
): Pick<LocalReport, "running_version" | "running_signer"> =>
  running === undefined ? {} : { running_version: running.version, running_signer: running.signer };

/** Builds a report during a deployment, from its public events and from what was fetched. */
export class ReportDraft {
  readonly #warnings: string[] = [];
  readonly #steps: StepOutcome[] = [];
  /** Bytes that the present attempt has fetched, and those before it. */
  #bytes = 0;
  #bytesBefore = 0;
  /** Bytes of the download that came from the disk. */
  #kept = 0;
  #version: string | null = null;
  #isRepeated = false;
  /** Unit of the step that runs or has failed; null for none. */
  #unit: string | null = null;
  #log: readonly string[] = [];
  #artifact: ArtifactFacts = { repo: null, artifact_sha256: null, signer: null, plugins: [] };

  hear(event: AgentEvent): void {
    if (event.event === "warning") this.#warnings.push(event.message);
    if (event.event === "partial.used") this.#kept = event.bytes;
    if (event.event === "partial.unusable") {
      this.#bytesBefore += this.#bytes;
      this.#bytes = this.#kept = 0;
    }
    // A fault of the disk may have ended the kept bytes early.
    if (event.event === "fetch.done") this.#kept = event.kept_bytes ?? 0;
    if (event.event === "fetch.progress" || event.event === "fetch.done")
      this.#bytes = Math.max(0, event.bytes - this.#kept);
    if (event.event === "resolve.ok") this.#version = event.version;
    if (event.event === "policy.refused" || event.event === "apps.held") this.#isRepeated = event.repeated;
    if (event.event === "step.started") this.#unit = event.plugin;
    if (event.event === "step.done") this.#steps.push(event.outcome);
  }

  fetched(facts: ArtifactFacts): void {
    this.#artifact = facts;
  }

  /** Keeps the last lines that a unit which failed has written. */
  logged(lines: readonly string[]): void {
    this.#log = lines;
  }

  /** Lines for the report of a failure. */
  get log(): readonly string[] {
    return this.#log;
  }

  /** Unit of the step that has failed, if one has: the last step that began. */
  get failedUnit(): string | null {
    return this.#steps.at(-1)?.status === "failed" ? this.#unit : null;
  }

  /** Resolved version, if any. */
  get version(): string | null {
    return this.#version;
  }

  /** Whether an earlier report said the same. */
  get isRepeated(): boolean {
    return this.#isRepeated;
  }

  /** Returns the part of a report about what happened so far. */
  facts(): ArtifactFacts & Pick<LocalReport, "resolved_version" | "steps" | "bytes" | "warnings"> {
    return {
      resolved_version: this.#version,
      ...this.#artifact,
      steps: [...this.#steps],
      bytes: this.#bytesBefore + this.#bytes,
      warnings: [...this.#warnings],
    };
  }
}

/** Part of a run that its report describes. */
export interface Reported {
  id: string;
  startedAt: string;
  source: { kind: LocalReport["kind"]; slug: string; target: TargetName; requestedVersion: string };
  options: { hostId: string; keepReports: number };
  layout: Layout;
  emit: Emit;
  draft: ReportDraft;
}

/** Returns the report of a run that ends now. */
export function reportOf(
  { id, source, options, startedAt, draft }: Reported,
  { status, error, running }: { status: DeploymentStatus; error?: SealiftError; running: RunningRelease | undefined },
): LocalReport {
  return {
    slug: source.slug,
    kind: source.kind,
    status,
    requested_version: source.requestedVersion,
    started_at: startedAt,
    completed_at: new Date().toISOString(),
    error_message: error === undefined ? null : errorMessage(error),
    host_id: options.hostId,
    deployment_id: id,
    code: error === undefined ? null : causeCode(error),
    ...(error?.cause !== undefined && { causes: causesOf(error) }),
    ...draft.facts(),
    ...(error !== undefined && draft.log.length > 0 && { log: [...draft.log] }),
    ...runningFields(running),
  };
}

/** Prefixes of messages about versions that a host holds. */
const HELD: Partial<Record<Code, string>> = {
  rights_held: HELD_RIGHTS,
  policy_refused: HELD_POLICY,
  app_not_allowed: HELD_APPLICATION,
};

const errorMessage = ({ code, message }: SealiftError): string => `${HELD[code] ?? ""}${message}`.slice(0, MAX_MESSAGE);

/** Returns the messages of the errors behind an error. */
function causesOf(error: SealiftError): string[] {
  const causes: string[] = [];
  for (let cause = error.cause; cause instanceof Error && causes.length < MAX_CAUSES; cause = cause.cause)
    if (!error.message.includes(cause.message)) causes.push(cause.message.slice(0, MAX_MESSAGE));
  return causes;
}

/** Returns the code of the first error: a rollback is the consequence of another one, and blames whom that blames. */
function causeCode({ code, cause }: SealiftError): Code {
  if ((code !== "rolled_back" && code !== "not_back") || !(cause instanceof SealiftError)) return code;
  return code === "not_back" && blamesVersion(cause.code) ? code : cause.code;
}

/** Returns the report of a killed run, as far as its own notes go. */
export function interruptedReport(attempt: Attempt, status: DeploymentStatus, running?: RunningRelease): LocalReport {
  const { slug, kind, requested_version, resolved_version, started_at, host_id, deployment_id } = attempt;
  return {
    slug,
    kind,
    status,
    requested_version,
    resolved_version,
    repo: null,
    started_at,
    completed_at: new Date().toISOString(),
    error_message: CUT_SHORT,
    host_id,
    deployment_id,
    code: "interrupted",
    steps: [],
    bytes: 0,
    artifact_sha256: null,
    plugins: [],
    warnings: [],
    ...runningFields(running),
  };
}
