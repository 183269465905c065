import type { Transport } from "./http.ts";

/** Event of a pause that the server requests with `Retry-After`, before the request is repeated. */
export type WaitEvent = Readonly<{ event: "hub.waiting"; wait_ms: number; code: string; message: string }>;

/** Returns the option of a transport by which its waits become events. */
export const tellWaits = (emit: (event: WaitEvent) => void): Required<Pick<Transport, "onWait">> => ({
  onWait: ({ code, message }, waitMs) => emit({ event: "hub.waiting", wait_ms: waitMs, code, message }),
});

/** Describes a wait in one line. */
export const waitSentence = ({ wait_ms: ms, message }: WaitEvent): string =>
  `${message} Waiting ${Math.ceil(ms / 1000)} s, as the server asks`;
