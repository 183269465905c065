/** Event of `sealift app serve` at work. Names and fields are stable: programs read them as NDJSON. */
export type AppServeEvent =
  | { event: "application.started"; id: string; pid: number; release: string; user: string; same_user: boolean }
  /** A process has ended by itself. `restart_ms`: pause until it is started again. */
  | { event: "application.ended"; id: string; message: string; restart_ms: number }
  | { event: "application.stopped"; id: string }
  /** A start failed. `restart_ms`: pause until the next attempt; null when somebody has to ask for it. */
  | { event: "application.failed"; id: string; code: string; message: string; restart_ms: number | null };

export type EmitAppServe = (event: AppServeEvent) => void;
