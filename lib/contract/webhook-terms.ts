/** The words of webhooks, apart from the schemas, for programs that only name them (docs/contract/webhooks.md). */

/** Events that webhooks hear of; `webhook.test` is sent on request only. */
export const WEBHOOK_EVENTS = [
  "version.published",
  "version.yanked",
  "version.restored",
  "version.held",
  "rollout.started",
  "rollout.wave_opened",
  "rollout.halted",
  "rollout.finished",
  "host.failed",
] as const;

export const WEBHOOK_FORMATS = ["json", "slack"] as const;
