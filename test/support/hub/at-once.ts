import type { Test } from "tap";
import type { RunningHub } from "./harness.ts";

/** Asks for something many times at once, where a limit lets it be created a few times. @returns how often it was */
export async function createdAtOnce(
  t: Test,
  hub: Pick<RunningHub, "call">,
  [path, count]: readonly [path: string, count: number],
  json: object,
): Promise<number> {
  const asked = Array.from({ length: count }, () => hub.call("POST", path, { json }));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  t.ok(
    statuses.every((status) => status === 201 || status === 409),
    statuses.join(" "),
  );
  return statuses.filter((status) => status === 201).length;
}
