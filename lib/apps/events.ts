import type { LimitName } from "../contract/files/limit-forms.ts";
import type { MembershipKind } from "../contract/surfaces/app-serve.ts";
import type { JobEvent } from "../releases/job-scheduler.ts";

/** Event of `sealift app serve` at work. Names and fields are stable: programs read them as NDJSON. */
export type AppServeEvent =
  | JobEvent
  | {
      event: "application.started";
      id: string;
      pid: number;
      release: string;
      user: string;
      same_user: boolean;
      /** Way in which its processes are told from others. */
      membership: MembershipKind;
      /** Why not by a control group; left out for one. */
      reason?: string;
      /** Limits of its grant that nothing enforces here, and why; left out for none. */
      unenforced?: readonly LimitName[];
      unlimited?: string;
    }
  /** A process has ended by itself. `restart_ms`: pause until it is started again. */
  | { event: "application.ended"; id: string; message: string; restart_ms: number }
  | { event: "application.migrated"; id: string; duration_ms: number }
  /** `killed`: it did not end within `stop.within` of its app.yaml. */
  | { event: "application.stopped"; id: string; killed: boolean }
  /**
   * A start failed. `restart_ms`: pause until the next attempt, which waits for the end of a deployment; null when
   * somebody has to ask for it.
   */
  | { event: "application.failed"; id: string; code: string; message: string; restart_ms: number | null };

export type EmitAppServe = (event: AppServeEvent) => void;

/** Step of `sealift app test` that went well. Names and fields are stable: programs read them as NDJSON. */
export type AppTestEvent =
  /** A copy was made of what would be packed. */
  | { event: "trial.packed"; id: string; files: number; bytes: number }
  | { event: "trial.migrated"; duration_ms: number }
  | { event: "trial.started"; pid: number; user: string; addresses: Record<string, string> }
  /** `health.http` was answered for the first time, or `health.command` ended well (`url` is null). */
  | { event: "trial.answered"; url: string | null; duration_ms: number }
  /** It listens otherwise than `app.yaml` says. */
  | { event: "trial.listens"; port: number; message: string }
  /** It went on for `health.stays_up`. */
  | { event: "trial.stayed_up"; duration_ms: number }
  /** A job ended well. */
  | { event: "trial.ended"; duration_ms: number }
  | { event: "trial.stopped"; signal: string; duration_ms: number };
