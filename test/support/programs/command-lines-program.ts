/** The other side of {@link commandLine}: runs the command lines that it is sent, one after the other. */
import { runProgram } from "../../../commands/shell/main.ts";
import { COMMANDS } from "../../../commands/shell/registry.ts";
import type { Asked } from "./command-line.ts";

/** Collects what is written to a stream until the next call. */
function collected(stream: NodeJS.WriteStream): () => string {
  let text = "";
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    const done = rest.find((each): each is () => void => typeof each === "function");
    if (done !== undefined) queueMicrotask(done);
    return true;
  };
  return () => {
    const whole = text;
    text = "";
    return whole;
  };
}

const stdout = collected(process.stdout);
const stderr = collected(process.stderr);

async function answer({ args, cwd, env }: Asked): Promise<void> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  const code = await runProgram("sealift", COMMANDS, args).catch((error: unknown) => {
    process.stderr.write(String((error as Error).stack));
    return 1;
  });
  process.send!({ code, stdout: stdout(), stderr: stderr() });
}

process.on("message", (asked: Asked) => void answer(asked));
