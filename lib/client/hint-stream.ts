import { createParser } from "eventsource-parser";
import { followChanges } from "../contract/changes/routes.ts";
import { beatIn, type ChangeHint, changeHint, HINT_EVENT } from "../contract/surfaces/changes.ts";
import { HEADERS } from "../contract/surfaces/headers.ts";
import { baseUrl, pathOf } from "../contract/surfaces/paths.ts";
import { parseJson } from "../support/documents/limits.ts";
import { safelyParsed } from "../support/documents/safe-parse.ts";
import { statusError } from "./answers.ts";
import { header, type HttpRequest, operationError, send, transportError } from "./http.ts";
import { hostHeaders, type HubConnection } from "./hub-connection.ts";

/** Longest event, in characters: enough for as many targets as a stream may have. */
const MAX_EVENT_CHARACTERS = 64 * 1024;
/** Matches ids that a header can repeat. Any other id would make every later connection fail. */
const USABLE_ID = /^[!-~]{1,128}$/;
/** Seconds between two comments that a watch asks for: few bytes, and still within the patience of usual proxies. */
const BEAT_S = 50;
/**
 * Silence after which a stream counts as dead, in milliseconds: a beat and a half. Then a proxy buffers the answer, or
 * has cut it. Hubs of before 0.3.0 send a comment every 15 seconds.
 */
export const SILENCE_MS = 1.5 * BEAT_S * 1000;

export interface HintHearing {
  /** Id of the last hint received: the stream starts with what was missed since. */
  lastEventId?: string | undefined;
  /** Defaults to {@link SILENCE_MS}. */
  silenceMs?: number | undefined;
  /**
   * Called when the hub has begun to answer, and no proxy buffers the answer.
   *
   * @param isLife whether the hub takes the stream for a sign of life, so that polls may be rare
   */
  onOpen: (isLife: boolean) => void;
  /** @param id undefined for one that could not be sent back */
  onHint: (hint: ChangeHint, id: string | undefined) => void;
}

/**
 * Follows a hub's hints for some targets (docs/contract/hints.md) until the stream ends. Skips malformed hints: polls
 * have the truth.
 *
 * @param targets as people write them
 * @throws DeploymentError; AuthenticationError on 401 and 403; the reason of the signal
 */
export async function followHints(
  targets: readonly string[],
  connection: HubConnection,
  { lastEventId, silenceMs = SILENCE_MS, onOpen, onHint }: HintHearing,
): Promise<void> {
  const { apiKey, hubUrl } = connection;
  const transport = { ...connection, timeoutMs: silenceMs };
  const request: HttpRequest = {
    operation: "hints",
    method: followChanges.method,
    url: `${baseUrl(hubUrl)}${pathOf(followChanges)}?targets=${targets.map(encodeURIComponent).join(",")}`,
    headers: {
      accept: "text/event-stream",
      "cache-control": "no-cache",
      [HEADERS.beat]: String(BEAT_S),
      ...hostHeaders(connection),
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    },
    credentials: { [HEADERS.apiKey]: apiKey },
    secrets: [apiKey],
  };
  const response = await send(request, transport);
  if (response.status !== 200) throw await statusError(response, request);
  try {
    if (!/^text\/event-stream\b/i.test(header(response, "content-type") ?? ""))
      throw operationError("hints", "bad_answer", "the hub answered 200, but with no stream of events.", {
        status: 200,
      });
    const parser = createParser({
      maxBufferSize: MAX_EVENT_CHARACTERS,
      onEvent({ event, id, data }) {
        const hint = event === HINT_EVENT ? safelyParsed(changeHint, jsonOf(data)).data : undefined;
        if (hint !== undefined) onHint(hint, USABLE_ID.test(id ?? "") ? id : undefined);
      },
      onError({ type }) {
        if (type === "max-buffer-size-exceeded") throw tooLong();
      },
    });
    const decoder = new TextDecoder();
    let isOpen = false;
    for await (const chunk of response.body) {
      // A buffering proxy sends the headers alone.
      if (!isOpen) onOpen(beatIn(header(response, HEADERS.beat)) !== undefined);
      isOpen = true;
      parser.feed(decoder.decode(chunk as Buffer, { stream: true }));
    }
  } catch (error) {
    throw transportError(error, request, response.url, transport);
  } finally {
    response.discard();
  }
}

const tooLong = () =>
  operationError("hints", "bad_answer", `the hub sent an event of more than ${MAX_EVENT_CHARACTERS} characters.`, {
    status: 200,
  });

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
