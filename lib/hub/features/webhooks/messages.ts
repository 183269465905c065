import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { textsOf, type WebhookMessage } from "../../../contract/webhook-events.ts";
import { printable } from "../../../support/printable.ts";
import { openSecret } from "../../keys/hub-secret.ts";
import type { Keyring } from "../../keys/keyring.ts";
import type { Queries } from "../../records/port.ts";
import { webhookSecretName } from "./records.ts";
import type { WebhooksTable } from "./tables.ts";

/** Sealed part of a webhook: its URL and secrets. */
export interface WebhookSecrets {
  url: string;
  secret: string;
  /** Previous secret, which also signs until a time in milliseconds since 1970. */
  previous?: { secret: string; until: number };
}

/** Makes a secret by the Standard Webhooks specification: 256 random bits behind `whsec_`. */
export const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;

export const sealedText = (sealed: WebhookSecrets): Buffer => Buffer.from(JSON.stringify(sealed));

/** Reads the sealed part of a webhook. @returns undefined for a webhook that is gone */
export async function openSealed(db: Queries, keyring: Keyring, id: string): Promise<WebhookSecrets | undefined> {
  const bytes = await openSecret(db, keyring, webhookSecretName(id));
  return bytes && (JSON.parse(bytes.toString()) as WebhookSecrets);
}

/** Escapes text for Slack, which reads `<…>` as links and mentions; other chats show it as it is. */
const escaped = (text: string): string =>
  printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Summarizes a message in one sentence for people. */
function sentenceOf({ type, data }: WebhookMessage): string {
  const { name, reason, error_message: cause } = data;
  const why = reason ?? cause ?? "";
  return escaped(`${name}: ${textsOf(type).sentence(data)}${why === "" ? "" : `: ${why}`}`);
}

/** Returns the body of a message in a webhook's format: JSON, or a text for a chat. */
export const bodyOf = (format: WebhooksTable["format"], message: string): string =>
  format === "json" ? message : JSON.stringify({ text: sentenceOf(JSON.parse(message) as WebhookMessage) });

/**
 * Returns the headers of a message: the same id for each attempt, the time of this one, and a signature for each
 * secret.
 *
 * @param now milliseconds since 1970
 */
export function headersOf(sealed: WebhookSecrets, id: string, body: string, now: number) {
  const { secret, previous } = sealed;
  const secrets = previous !== undefined && previous.until > now ? [secret, previous.secret] : [secret];
  const time = new Date(now);
  return {
    "content-type": "application/json",
    "user-agent": "sealift-hub",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now / 1000)),
    "webhook-signature": secrets.map((one) => new Webhook(one).sign(id, time, body)).join(" "),
  };
}
