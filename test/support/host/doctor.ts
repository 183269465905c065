import { commandLine } from "../programs/command-line.ts";

/** `sealift doctor --json`, whatever its exit code. */
export async function doctor(args: readonly string[], env: Record<string, string>) {
  const { code, stdout } = await commandLine(["doctor", ...args, "--json"], {
    env: { PATH: process.env.PATH, ...env },
  });
  const events = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, string>);
  const finding = (check: string) => events.find((event) => event["check"] === check);
  return { code, events, finding, result: events.at(-1) };
}

/** Asks why a target does not run its newest version. */
export async function doctorOf(target: string, args: readonly string[], env: Record<string, string>) {
  const { code, result } = await doctor([target, ...args], env);
  return { code, reason: result?.["reason"], message: result?.["message"] };
}
