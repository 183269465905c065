import type { WatchEvent } from "../../../lib/agent/watch/events.ts";
import { watchSentences } from "../../../lib/agent/watch/sentences.ts";
import { localTime } from "../../../lib/support/local-time.ts";

/** Renders the loop's events as plain lines, each with its time and target. */
export function watchLines(write: (line: string) => void, withTime: boolean): (event: WatchEvent) => void {
  const sentenceOf = watchSentences();
  return (event) => {
    const sentence = sentenceOf(event);
    if (sentence === undefined) return;
    const time = withTime
      ? `${process.stdout.isTTY ? localTime(Date.now()) : `${new Date().toISOString().slice(0, 19)}Z`} `
      : "";
    write(`${time}${"target" in event ? `${event.target}  ` : ""}${sentence}`);
  };
}
