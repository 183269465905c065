import { Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { lightenHttp } from "../../lib/support/light-http.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { SealiftCommand } from "../shell/base.ts";

/** Commands that talk to a hub. */
export abstract class HubCommand extends SealiftCommand {
  hubUrl = Option.String("--hub-url", { description: "Root of the hub [SEALIFT_HUB_URL]" });
  apiKey = Option.String("--api-key", { description: "API key; safer as [SEALIFT_API_KEY] or --api-key-file" });
  apiKeyFile = Option.String("--api-key-file", { description: "File with the API key; - is standard input" });
  timeout = Option.String("--timeout", {
    description: "Longest silence of the hub, not of a whole transfer (default: 30 s, 60 s on the marketplace)",
  });

  override execute(): Promise<number> {
    // Before anything of a client is loaded.
    lightenHttp();
    return super.execute();
  }
}

/** The hub that a command talks to. @throws UsageError `usage` */
export function hubConnection(
  settings: Settings,
  defaultTimeoutMs: number,
): { hubUrl: string; apiKey: string; timeoutMs: number } {
  const hubUrl = settings.required("hub-url");
  const parsed = URL.parse(hubUrl);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw usageError("usage", `--hub-url is an http or https URL, not ${JSON.stringify(hubUrl)}.`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw usageError("usage", "--hub-url holds a user name or password; give the API key by --api-key-file instead.");
  }
  const timeoutMs = settings.duration("timeout", defaultTimeoutMs);
  if (timeoutMs === 0) throw usageError("usage", "--timeout must be longer than nothing.");
  return { hubUrl, apiKey: settings.requiredSecret("api-key"), timeoutMs };
}

/** Silence that is tolerated on surface A and on surface B, in milliseconds (docs/contract/README.md#limits). */
export const MARKETPLACE_TIMEOUT_MS = 60_000;
export const DEPLOY_TIMEOUT_MS = 30_000;
